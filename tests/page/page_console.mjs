// The console of a node: what it says, what is typed, who is on it, only looking, a daemon that is away, a tenant whose node is taken, and an auditor.
import {facts, need, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("console");
const {page} = walk;
const happen = async (what) => (await fetch(facts.control + what)).json();
const rows = (of = page) => of.locator(".xterm-rows").innerText().then((text) => text.replaceAll("\u00a0", " "));
const word = (of = page) => of.getByRole("complementary", {name: "About the console"}).getByRole("status").first().innerText();
const readers = (of = page) => of.getByRole("region", {name: "Who is on it"});

/** ipmi_sim goes mute now and then, more so on a busy machine: then its session is begun anew, as a person would. */
async function hears(what, seen) {
  for (let turn = 0; ; turn++) {
    try {
      return await until(what, seen, turn < 2 ? 12 : 30);
    } catch (error) {
      console.log(await happen("/state"));
      if (turn === 2) throw error;
      await happen("/reopen");
    }
  }
}

async function opens() {
  await walk.open("/nodes/n1");
  await walk.logIn("olga");
  await page.goto(`${facts.url}/nodes/n1`);
  await page.getByRole("link", {name: "Console"}).click();
  await until("the line is open", async () => (await word()).startsWith("open"));
  await happen("/hostile");
  await hears("what the node says is there, as text", async () => (await rows()).includes("true green") && (await rows()).includes(facts.script.slice(0, 20)));
  need((await page.title()) === "Console of n1 - HaaS", "the node does not name the page");
  need((await page.locator(".xterm-rows img, .xterm-rows script, .xterm-rows a").count()) === 0, "nothing of it became HTML");
  const colour = await page.locator(".xterm-rows span", {hasText: "true green"}).first().evaluate((of) => getComputedStyle(of).color);
  need(colour !== (await page.locator(".screen-box").evaluate((of) => getComputedStyle(of).color)), `its colours are shown: ${colour}`);
  await readers().getByText("olga").waitFor();
  need((await readers().innerText()).includes("(you)"), "one sees that oneself is on it");
  await walk.look("open");
}

async function types() {
  await happen("/quiet");
  await page.locator(".screen-box").click();
  await page.keyboard.type("root");
  await page.keyboard.press("Enter");
  await until("keys reach the node", async () => (await happen("/heard")).text.includes("root\r"));
  await until("one sees who types", async () => (await readers().innerText()).includes("types"));
  await page.getByRole("button", {name: "Only look"}).click();
  await page.locator(".screen-box").click();
  await page.keyboard.type("XYZZY");
  await page.getByText("haasctl node console n1 --read-only").waitFor();
  await page.getByRole("button", {name: "Type too"}).click();
  await until("the terminal has the keyboard", () => page.evaluate(() => document.activeElement?.closest(".xterm") !== null));
  await page.keyboard.type("q");
  await until("a key after it", async () => (await happen("/heard")).text.includes("q"));
  need(!(await happen("/heard")).text.includes("XYZZY"), "who only looks types nothing");
  await page.keyboard.press("Control+]");
  need(await page.getByRole("button", {name: "Only look"}).evaluate((of) => of === document.activeElement), "the keyboard gets out");
}

async function anew() {
  await page.getByRole("button", {name: "Begin anew…"}).click();
  await walk.look("anew", {narrow: false});
  await page.getByRole("dialog").getByRole("button", {name: "Begin anew"}).click();
  await until("it was taken", async () => (await page.getByRole("dialog").count()) === 0);
  await happen("/login");
  await hears("and the line speaks", async () => (await rows()).includes("login: login:"));
}

async function away() {
  await happen("/bampid/stop");
  await until("it says so", async () => /tried again/.test(await word()));
  need((await rows()).includes("login:"), "what was said stays");
  await walk.look("away", {narrow: false});
  await happen("/bampid/start");
  await until("it comes back by itself", async () => (await word()).startsWith("open"), 60);
}

/** The node goes to another tenant under an open page and console. */
async function taken() {
  await happen("/globex");
  const context = await walk.browser.newContext({ignoreHTTPSErrors: true, viewport: {width: 1280, height: 800}});
  const hers = await context.newPage();
  const olga = walk.page;
  walk.page = hers;
  await hers.goto(`${facts.url}/nodes/n1/console`);
  await walk.logIn("globex/gina");
  await hers.goto(`${facts.url}/nodes/n1/console`);
  await until("a tenant's console opens", async () => (await word(hers)).startsWith("open"));
  await hears("and speaks", async () => (await rows(hers)).includes("login:"));
  need(!(await rows(hers)).includes("true green"), "nothing of before");
  await until("she sees who else is on it", async () => (await readers(hers).innerText()).includes("gina"));
  const list = await context.newPage();
  await list.goto(`${facts.url}/nodes`);
  await list.getByRole("grid", {name: "Nodes"}).getByText("n1", {exact: true}).first().waitFor();
  const begun = Date.now();
  await happen("/acme");
  await until("the list shows it no more", async () => (await list.getByRole("grid", {name: "Nodes"}).getByText("n1", {exact: true}).count()) === 0, 20);
  console.log(`gone from the list after ${Date.now() - begun} ms`);
  await until("her console ended", async () => (await word(hers)).startsWith("closed"), 20);
  console.log(`her console: ${(await word(hers)).replaceAll("\n", " | ")}`);
  need(/is not its tenant's now|is not there any more/.test(await word(hers)), `it says why: ${await word(hers)}`);
  await hers.screenshot({path: `${facts.pictures}/console-taken-light.png`});
  await context.close();
  walk.page = olga;
}

async function auditor() {
  await page.getByRole("button", {name: "Log out", exact: true}).click();
  await walk.logIn("aud");
  await walk.open("/nodes/n1/console");
  await page.getByText("Your role does not read consoles").waitFor();
  await walk.look("auditor", {narrow: false});
  await walk.open("/nodes/n1");
  await page.getByRole("heading", {level: 1, name: "n1"}).waitFor();
  need((await page.getByRole("link", {name: "Console"}).count()) === 0, "no dead button");
}

for (const part of [opens, types, anew, away, taken, auditor]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await walk.page.screenshot({path: `${facts.pictures}/console-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
