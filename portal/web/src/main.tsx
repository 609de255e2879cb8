// The page begins: who is it, then the shell, or the door.
import {render} from "preact";
import {back, comeBack} from "./app/provider";
import {go, place, startRoute} from "./app/route";
import {isSite, me, refusal, whoami} from "./app/session";
import "./app/scheme";
import {Shell} from "./app/shell";
import {Refused} from "./part/screen";
import {Link, Login, Unchanged} from "./screen/login/login";

/** On-call engineers land on what needs them, others of the site on all of it, tenants on what is theirs. */
function home() {
  if (place.value.path === "/" || place.value.path === "/login") go(!isSite.value ? "/pdcis" : me.value?.role === "on-call" ? "/alerts" : "/overview", true);
}

function Page() {
  if (place.value.path === "/link") return <Link />;
  if (me.value === null) return <Login />;
  if (me.value === undefined) {
    if (!refusal.value) return null;
    return (
      <main class="door">
        <div class="stack">
          <h1>Not now</h1>
          <Refused refusal={refusal.value} again={() => void whoami()} />
        </div>
      </main>
    );
  }
  if (back.value) return <Unchanged />;
  return <Shell key={me.value.actor} />;
}

const cameBack = comeBack(); // before anything keeps this address
window.addEventListener("popstate", comeBack);
startRoute();
me.subscribe((who) => who && home());
place.subscribe(() => me.peek() && home());
if (!cameBack) void whoami();
render(<Page />, document.getElementById("page")!);
