// One outage: the screens of the side bar and one of each kind of thing were read before it, and say since when they are stale.
import {facts, need, until, Walk} from "./walk.mjs";

/** Screens of one thing each, beside those of the side bar. */
const ONES = ["/nodes/gpu-0003", "/pdcis/web?tenant=globex", "/switches/leaf1"];
/** They ask a daemon that is not here, so they were never read. */
const UNREAD = ["/collector"];

const walk = await Walk.begin("stale");
const {page} = walk;
const live = page.locator(".head .live");
const rows = () => page.locator("main [role=row], main tr").count();

/** By the page's own address, as a link does it: what was read stays in this tab. */
async function go(path) {
  await page.evaluate((href) => {
    const link = document.body.appendChild(Object.assign(document.createElement("a"), {href}));
    link.click();
    link.remove();
  }, path);
  await until(`${path} is there`, () => page.evaluate((href) => location.pathname === new URL(href, location.href).pathname && document.querySelector(".head .live") !== null, path));
}

await walk.open("/alerts");
await walk.logIn("olga");
const screens = await page.getByRole("navigation", {name: "Screens"}).getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
need(screens.length > 20, `screens of the side bar: ${screens}`);
const before = {};
for (const path of [...screens, ...ONES]) {
  await go(path);
  if (UNREAD.includes(path)) continue;
  await until(`${path} is read`, async () => /^(live|read|to) ?/.test(await live.textContent()));
  before[path] = await rows();
}
console.log(`${Object.keys(before).length} screens are read, ${UNREAD} is not`);
await go("/pdcis");
await fetch(`${facts.control}/database/stop`);
await until("it says so by itself", async () => /^stale since/.test(await live.textContent()), 20);
for (const path of Object.keys(before)) {
  await go(path);
  await until(`${path} says since when it is stale`, async () => /^stale since \d\d:\d\d:\d\d$/.test(await live.textContent()), 20);
  need((await rows()) > 0 || before[path] === 0, `${path}: what was read stays`);
}
await walk.look("pdcis");
await walk.end();
