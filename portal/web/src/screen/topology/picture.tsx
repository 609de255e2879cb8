// The canvas: drag or arrows move it, wheel or + and - bring it nearer, 0 shows all. What is chosen stands in the address; the list beside it says the same.
import {useEffect, useRef} from "preact/hooks";
import {repaint} from "../../part/paint";
import {coloursOf, fit, lookAt, under, zoom, type Chosen, type Colours, type Overlay, type View} from "./draw";
import {drawMoved, drawStill, type Kept} from "./kept";
import type {Layout} from "./layout";

interface Props {
  layout: Layout;
  overlay: Overlay | undefined;
  chosen: Chosen;
  choose: (chosen: Chosen) => void;
  /** Said to who cannot see it. */
  label: string;
}

const STEP = 60;

function placeOf(layout: Layout, chosen: Chosen): {x: number; y: number} | undefined {
  if (chosen.switch) return layout.switches.get(chosen.switch);
  if (chosen.node) return layout.seats.get(chosen.node);
  const cable = layout.cables.find((one) => one.of.id === chosen.link);
  return cable && {x: (cable.a.x + cable.b.x) / 2, y: (cable.a.y + cable.b.y) / 2};
}

export function Picture(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const state = useRef<{view?: View; colours?: Colours; kept?: Kept | undefined; panned: boolean; frame: number; fitted: boolean}>({panned: false, frame: 0, fitted: true});
  const latest = useRef(props);
  latest.current = props;

  const redraw = () => {
    if (state.current.frame) return;
    state.current.frame = requestAnimationFrame(() => {
      const {view, colours} = state.current;
      state.current.frame = 0;
      const ctx = canvas.current?.getContext("2d");
      const {layout, overlay, chosen} = latest.current;
      if (!ctx || !view || !colours) return;
      const scene = {layout, colours, overlay, chosen};
      if (state.current.panned) state.current.kept = drawMoved(ctx, state.current.kept, scene, view);
      else drawStill(ctx, scene, view);
      ctx.canvas.dataset.tree = overlay?.tenant ?? "";
    });
  };
  const size = () => ({width: canvas.current!.clientWidth, height: canvas.current!.clientHeight});
  const fitAll = () => {
    const {width, height} = size();
    state.current.view = fit(latest.current.layout, width, height);
    state.current.panned = false;
    state.current.fitted = true;
    redraw();
  };
  const move = (view: View) => {
    const was = state.current.view;
    state.current.panned = was?.scale === view.scale && was.tall === view.tall;
    state.current.view = view;
    state.current.fitted = false;
    redraw();
  };

  useEffect(() => {
    const element = canvas.current!;
    const observer = new ResizeObserver(() => {
      element.width = Math.round(element.clientWidth * devicePixelRatio);
      element.height = Math.round(element.clientHeight * devicePixelRatio);
      if (!state.current.view || state.current.fitted) fitAll();
      else redraw();
    });
    observer.observe(element);
    const unpaint = repaint.subscribe(() => {
      state.current.colours = coloursOf();
      redraw();
    });
    // passive would let the page scroll
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const {view} = state.current;
      if (view) move(zoom(latest.current.layout, view, Math.exp(-event.deltaY * 0.0016), event.offsetX, event.offsetY, element.clientHeight));
    };
    element.addEventListener("wheel", wheel, {passive: false});
    return () => {
      observer.disconnect();
      unpaint();
      element.removeEventListener("wheel", wheel);
      cancelAnimationFrame(state.current.frame);
      state.current.frame = 0;
    };
  }, []);

  useEffect(() => (state.current.fitted ? fitAll() : redraw()), [props.layout.width, props.layout.height]);
  useEffect(() => {
    state.current.panned = false;
    redraw();
  }, [props.layout, props.overlay]);
  const {link, switch: name, node} = props.chosen;
  useEffect(() => {
    const at = placeOf(latest.current.layout, latest.current.chosen);
    const {view} = state.current;
    const {width, height} = size();
    if (at && view) {
      const [x, y] = [(at.x - view.x) * view.scale, (at.y - view.y) * view.tall];
      if (x < 0 || y < 0 || x > width || y > height) return move(lookAt(latest.current.layout, view, at.x, at.y, width, height));
    }
    redraw();
  }, [link, name, node]);

  const drag = useRef<{x: number; y: number; moved: boolean}>();
  const onPointerDown = (event: PointerEvent) => {
    canvas.current!.setPointerCapture(event.pointerId);
    drag.current = {x: event.offsetX, y: event.offsetY, moved: false};
  };
  const onPointerMove = (event: PointerEvent) => {
    const from = drag.current;
    const {view} = state.current;
    if (!from || !view) return;
    const [dx, dy] = [event.offsetX - from.x, event.offsetY - from.y];
    if (!from.moved && Math.hypot(dx, dy) < 4) return;
    drag.current = {x: event.offsetX, y: event.offsetY, moved: true};
    move({...view, x: view.x - dx / view.scale, y: view.y - dy / view.tall});
  };
  const onPointerUp = (event: PointerEvent) => {
    const {view} = state.current;
    if (drag.current && !drag.current.moved && view) props.choose(under(props.layout, view, event.offsetX, event.offsetY));
    drag.current = undefined;
    state.current.panned = false;
    state.current.kept = undefined; // its memory: nobody drags
  };
  const nearer = (by: number) => {
    const {view} = state.current;
    const {width, height} = size();
    if (view) move(zoom(props.layout, view, by, width / 2, height / 2, height));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const {view} = state.current;
    if (!view || event.ctrlKey || event.metaKey || event.altKey) return;
    const pan = (x: number, y: number) => move({...view, x: view.x + x / view.scale, y: view.y + y / view.tall});
    const keys: Record<string, () => void> = {
      ArrowLeft: () => pan(-STEP, 0), ArrowRight: () => pan(STEP, 0), ArrowUp: () => pan(0, -STEP), ArrowDown: () => pan(0, STEP),
      "+": () => nearer(1.4), "=": () => nearer(1.4), "-": () => nearer(1 / 1.4), "0": fitAll, Escape: () => props.choose({}),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]!();
  };
  return (
    <div class="picture">
      <canvas
        ref={canvas} tabIndex={0} role="application" aria-label={props.label} aria-describedby="picture-keys"
        onPointerDown={onPointerDown} onPointerMove={onPointerMove} onPointerUp={onPointerUp} onKeyDown={onKeyDown}
      />
      <div class="zoom">
        <button type="button" class="button" aria-label="Nearer" onClick={() => nearer(1.4)}>+</button>
        <button type="button" class="button" aria-label="Farther" onClick={() => nearer(1 / 1.4)}>−</button>
        <button type="button" class="button" onClick={fitAll}>All</button>
      </div>
      <p class="hidden" id="picture-keys">Arrows move the picture, + and - bring it nearer or farther, 0 shows all. The tables below say the same.</p>
    </div>
  );
}
