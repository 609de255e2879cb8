// What tests/bench/page measures in the browser: a line of JSON each. CPU raster, no reduced motion, a fresh context for the first content.
import {createRequire} from "node:module";

const facts = JSON.parse(process.env.PAGE_FACTS);
const {chromium} = createRequire(`${facts.work}/`)("playwright-core");
const browser = await chromium.launch({executablePath: facts.chromium, args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"]});
const context = await browser.newContext({ignoreHTTPSErrors: true, viewport: {width: 1280, height: 800}});
const page = await context.newPage();
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const tell = (what, ours, note) => console.log(JSON.stringify({what, ours, note}));

/** Lengths of frames while `step` runs in each, as the page's own clock has them. */
async function frames(step) {
  return page.evaluate(async ({seconds, step}) => {
    const run = new Function("at", step);
    const lengths = [];
    let last = await new Promise(requestAnimationFrame);
    const end = last + seconds * 1000;
    for (let at = 0; last < end; at++) {
      run(at);
      const now = await new Promise(requestAnimationFrame);
      lengths.push(now - last);
      last = now;
    }
    return lengths;
  }, {seconds: facts.seconds, step});
}

function tellFrames(what, lengths) {
  const sorted = [...lengths].sort((a, b) => a - b);
  tell(what, median(lengths), `${lengths.length} frames, median ${median(lengths).toFixed(1)} ms, p95 ${sorted[Math.floor(sorted.length * 0.95)].toFixed(1)} ms`);
}

await page.goto(`${facts.url}/login`);
await page.getByLabel("Account").fill("olga");
await page.getByLabel("Password").fill(facts.password);
await page.getByRole("button", {name: "Log in"}).click();
await page.getByRole("navigation", {name: "Screens"}).waitFor();

const firsts = [];
const paints = [];
for (let i = 0; i < 5; i++) {
  const fresh = await browser.newContext({ignoreHTTPSErrors: true, viewport: {width: 1280, height: 800}, storageState: await context.storageState()});
  const one = await fresh.newPage();
  // The frame that has the screen's heading, not only the shell's word that it loads.
  await one.addInitScript(() => {
    const observer = new MutationObserver(() => {
      if (!document.querySelector("h1")) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => (window.shownAt = performance.now())));
    });
    observer.observe(document, {childList: true, subtree: true});
  });
  await one.goto(`${facts.url}/alerts`);
  await one.getByRole("heading", {level: 1, name: "Alerts"}).waitFor();
  await one.waitForFunction(() => window.shownAt);
  firsts.push(await one.evaluate(() => window.shownAt));
  paints.push(await one.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
  await fresh.close();
}
tell("first", median(firsts), `${firsts.map(Math.round).join(", ")} ms; the first paint after ${paints.map(Math.round).join(", ")} ms`);

await page.goto(`${facts.url}/nodes`);
await page.waitForFunction((nodes) => document.querySelector("[aria-rowcount]")?.getAttribute("aria-rowcount") === String(nodes + 1), facts.nodes);
tellFrames("rows", await frames(`const grid = document.querySelector(".table"); grid.scrollTop = (at * 330) % (grid.scrollHeight - grid.clientHeight);`));

await page.goto(`${facts.url}/deployments`);
await page.waitForFunction(() => document.querySelectorAll(".cell").length >= 512);
const before = await page.evaluate(() => [...document.querySelectorAll(".cell > i")].map((one) => one.style.width).join());
tellFrames("wall", await frames("return at"));
const moved = await page.evaluate(() => [...document.querySelectorAll(".cell > i")].map((one) => one.style.width).join());
if (before === moved) throw new Error("no cell moved");

await page.goto(`${facts.url}/topology`);
const canvas = page.getByRole("application");
await canvas.waitFor();
if (!/: 500 switches, 1920 links/.test(await canvas.getAttribute("aria-label"))) throw new Error(`the fabric: ${await canvas.getAttribute("aria-label")}`);
// to and fro, so that all of it stays in sight
const drag = (type, x, y) => `canvas.dispatchEvent(new PointerEvent("${type}", {pointerId: 1, bubbles: true, clientX: box.x + ${x}, clientY: box.y + ${y}}));`;
await page.evaluate(() => {
  HTMLCanvasElement.prototype.setPointerCapture = () => undefined; // a pointer that is made here is none to capture
});
const begin = `const canvas = document.querySelector(".picture canvas"); const box = canvas.getBoundingClientRect();`;
await page.evaluate(`{${begin}${drag("pointerdown", 200, 100)}}`);
tellFrames("fabric", await frames(`${begin}${drag("pointermove", "200 + 40 * Math.sin(at / 9)", "100 + 10 * Math.cos(at / 9)")}`));
await page.evaluate(`{${begin}${drag("pointerup", 200, 100)}}`);

const names = await page.getByRole("navigation", {name: "Whose tree"}).getByRole("link").allTextContents();
const clicks = await page.evaluate(async (names) => {
  const canvas = document.querySelector(".picture canvas");
  const lengths = [];
  for (let i = 0; i < 12; i++) {
    const name = names[1 + (i % (names.length - 1))];
    const link = [...document.querySelectorAll("[aria-label='Whose tree'] a")].find((one) => one.textContent === name);
    const at = performance.now();
    link.click();
    while (canvas.dataset.tree !== name) await new Promise(requestAnimationFrame);
    lengths.push(performance.now() - at);
  }
  return lengths;
}, names);
tell("tenant", median(clicks), `${clicks.map(Math.round).join(", ")} ms`);
await browser.close();
