// The fabric: its picture with load and trees of tenants, by mouse, keyboard and tables. A tenant sees its own tree alone.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("network");
const {page} = walk;
const title = () => page.getByRole("heading", {level: 1}).textContent();
const rows = (label) => page.getByRole("grid", {name: label, exact: true}).getByRole("row");
const panel = page.getByRole("region", {name: "Chosen"});
const happen = (what) => fetch(facts.control + what);
const canvas = page.getByRole("application");

/** What the canvas shows, as one number: it changes when another picture is drawn. */
const picture = () => canvas.evaluate((element) => {
  const {data} = element.getContext("2d").getImageData(0, 0, element.width, element.height);
  let sum = 0;
  for (let at = 0; at < data.length; at += 41) sum = (sum * 31 + data[at]) | 0;
  return sum;
});

async function topology() {
  await walk.open("/");
  await walk.logIn("olga");
  await page.getByRole("link", {name: "Topology"}).click();
  await until("the fabric is drawn", async () => (await canvas.getAttribute("aria-label"))?.includes("18 switches, 32 links"));
  need((await canvas.getAttribute("aria-label")).includes("the fullest leaf1:up1 – spine1:dn1 with 93.0 %"), `the fullest is said: ${await canvas.getAttribute("aria-label")}`);
  need((await rows("Links").nth(1).textContent()).includes("leaf1:up1"), "the fullest link is the first of the table");
  await walk.look("topology");
}

async function keyboard() {
  const all = await picture();
  await canvas.focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("+");
  await until("+ brings it nearer", async () => (await picture()) !== all);
  const near = await picture();
  await page.keyboard.press("ArrowRight");
  await until("arrows move it", async () => (await picture()) !== near);
  await walk.look("topology-near", {narrow: false});
  await page.keyboard.press("0");
  await until("0 shows all again", async () => (await picture()) === all);
}

async function trees() {
  const load = await picture();
  await page.getByRole("link", {name: "initech"}).click();
  await until("its tree is drawn over", async () => (await picture()) !== load);
  const shown = await page.evaluate(() => document.querySelector(".numbers")?.textContent);
  need(shown.includes("links carry initech"), `and counted: ${shown}`);
  need((await rows("Links").count()) < 20, "the table has its links alone");
  await walk.look("topology-tenant");
  await page.getByRole("link", {name: "Load", exact: true}).click();
  await until("and taken off again", async () => (await picture()) === load);
}

async function link() {
  await rows("Links").nth(1).click();
  await panel.getByText("93.0 Gbit/s, 93.0 %, by counters").waitFor();
  await panel.getByText("acme, globex, initech").waitFor();
  await until("what it carries now is said", async () => /Last 5 s from leaf1930\.0 Mbit\/s/.test(await panel.textContent()));
  await walk.look("link");
  await happen("/load");
  await until("and moves with the stream", async () => /Last 5 s from leaf1750\.0 Mbit\/s/.test(await panel.textContent()));
  await page.getByRole("navigation", {name: "Which table"}).getByRole("link", {name: "Switches"}).click();
  await page.getByRole("grid", {name: "Switches", exact: true}).focus();
  await page.keyboard.press("Home");
  await until("a switch is chosen by the keyboard", async () => (await panel.textContent()).includes("core1"));
  await walk.look("topology-switch", {narrow: false});
  await canvas.click({position: {x: 4, y: 4}});
  await until("a click beside everything chooses nothing", async () => (await panel.count()) === 0);
}

/** The same number at the port. */
async function port() {
  await walk.open("/switches/leaf1?at=up1");
  await panel.getByText("750.0 Mbit/s in the last 5 s").waitFor();
  need((await rows("Ports").filter({hasText: "spine1:dn1"}).textContent()).includes("750.0 Mbit/s"), "in the table too");
}

/** From one node of a tenant to another: each hop with its load, and where it is cut. */
async function path() {
  await walk.open("/topology?show=nodes&at=node:gpu-0002");
  await panel.getByLabel("Path to another node of acme").fill("gpu-0004");
  const before = await picture();
  await panel.getByRole("button", {name: "Show", exact: true}).click();
  await panel.getByText("whole, from end to end").waitFor();
  const told = await panel.textContent();
  for (const word of ["Network blue, VLAN 101 of f1", "gpu-0002:eth0 – leaf3:c2", "leaf7:c4 – gpu-0004:eth0", "100.0 Gbit/s", "haasctl network path acme gpu-0002 gpu-0004"]) need(told.includes(word), `the path says ${word}: ${told}`);
  need((await panel.locator("ol > li").count()) >= 5, "a cable, at least three links, a cable");
  await until("and is drawn", async () => (await picture()) !== before && (await page.locator(".topology-legend").textContent()).includes("gpu-0002 to gpu-0004"));
  await walk.look("path");
}

async function tenant() {
  await page.getByRole("button", {name: "Log out", exact: true}).click();
  await walk.logIn("globex/gina");
  await page.getByRole("link", {name: "My network"}).click();
  await until("only its tree", async () => /\d+ switches, \d+ links/.test((await canvas.getAttribute("aria-label")) ?? ""));
  const answers = await page.evaluate(async () => {
    const texts = [];
    for (const path of ["/api/v1/topology", "/api/v1/topology?tenant=globex", "/api/v1/topology?tenant=acme", "/api/v1/switches/leaf1/series?port=up1"]) {
      const answer = await fetch(path);
      texts.push({path, status: answer.status, text: await answer.text()});
    }
    return texts;
  });
  need(answers[0].status === 200 && answers[1].status === 200 && answers[2].status === 404 && answers[3].status === 403, `statuses: ${answers.map((one) => one.status)}`);
  for (const {path, text} of answers.slice(0, 2)) for (const word of ["acme", "initech", "counters"]) need(!text.includes(word), `${path} has ${word}`);
  await rows("Links").filter({hasText: "leaf1:up1"}).click();
  await until("of a link it sees what is its own", async () => /Last 5 s from leaf131\.0 Mbit\/s/.test(await panel.textContent()));
  need(!/750|930/.test(await page.locator("main").textContent()), "and nothing of what others send there");
  await walk.look("my-network");
  await walk.open("/topology?at=path:gpu-0001~gpu-0003");
  await panel.getByText("gpu-0001:eth0 – leaf1:c1").waitFor();
  need(!/acme|initech/.test(await panel.textContent()), "its own path names no other tenant");
  await walk.open("/topology?at=path:gpu-0001~gpu-0002");
  await panel.getByRole("alert").waitFor();
  need(!/acme|leaf3/.test(await panel.textContent()), "a node of another tenant is not there");
}

for (const part of [topology, keyboard, trees, link, port, path, tenant]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/network-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
