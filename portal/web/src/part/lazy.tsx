// A screen, or a part of one, whose code comes when it is first shown. Which of a screen's properties it takes stays checked by the compiler.
import type {ComponentType} from "preact";
import {useEffect, useState} from "preact/hooks";
import {Refusal} from "../api/client";
import {Refused} from "./screen";

/** Shown only when the code takes its time: a flash of words would say nothing. */
const PATIENCE_MS = 150;

const gone = () =>
  new Refusal(0, {title: "this screen could not be loaded", detail: "portald does not answer, or it has a newer page", hint: "load the page again: the address is kept"});

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let ready: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [failed, setFailed] = useState(false);
    const [slow, setSlow] = useState(false);
    const [, show] = useState(0);
    useEffect(() => {
      if (ready) return;
      let left = false;
      const timer = setTimeout(() => setSlow(true), PATIENCE_MS);
      load()
        .then((component) => {
          ready = component;
          if (!left) show(1);
        })
        .catch(() => !left && setFailed(true));
      return () => {
        left = true;
        clearTimeout(timer);
      };
    }, []);
    if (ready) {
      const Ready = ready;
      return <Ready {...props} />;
    }
    // A browser does not ask twice for a module that it did not get.
    if (failed) return <div class="screen"><Refused refusal={gone()} again={() => location.reload()} /></div>;
    return <div class="screen">{slow && <div class="state" role="status">Loading this screen</div>}</div>;
  };
}
