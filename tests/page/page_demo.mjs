// The demo's own page, with the two logins that the demo prints: each screen of the side bar, and one thing of each list, in both schemes and narrow.
import {Walk, facts, need, until} from "./walk.mjs";

const walk = await Walk.begin("demo");
const {page} = walk;
const screens = page.getByRole("navigation", {name: "Screens"});
const title = async () => (await page.locator("h1").textContent()) ?? "";

/** What a screen shows once it was read: neither a word of waiting nor a refusal. */
async function read(path) {
  await until(`${path} was read`, async () => (await page.locator("h1").count()) === 1 && (await page.locator(".state[role=status], .live:text-is('loading')").count()) === 0);
  need((await page.locator(".state[role=alert]").count()) === 0, `${path} is not refused: ${await page.locator(".state[role=alert]").allTextContents()}`);
}

async function each(who, account, password, expected) {
  await walk.open("/");
  await walk.logIn(account, password);
  const paths = await screens.getByRole("link").evaluateAll((links) => links.map((link) => new URL(link.href).pathname));
  need(paths.length >= expected.length && expected.every((path) => paths.includes(path)), `${account} has its screens: ${paths}`);
  for (const path of paths) {
    await walk.open(path);
    await read(path);
    await walk.look(`${who}${path.replaceAll("/", "-")}`);
  }
}

async function operator() {
  await each("operator", "boss", facts.passwords.boss, ["/nodes", "/pdcis", "/deployments", "/alerts"]);
  await walk.open("/nodes/n2");
  await read("/nodes/n2");
  need((await title()).includes("n2"), `a node has its screen: ${await title()}`);
  await walk.look("operator-node");
  await page.getByRole("button", {name: "Log out"}).click();
  await page.getByLabel("Account").waitFor();
}

async function tenant() {
  await each("globex", "globex/gina", facts.passwords.gina, ["/nodes", "/pdcis"]);
  await walk.open("/pdcis/globex");
  await read("/pdcis/globex");
  await page.getByText("n2", {exact: true}).first().waitFor();
  need(!(await page.locator("body").textContent()).includes("acme"), "a tenant is shown no other tenant");
  await walk.look("globex-pdci");
}

for (const part of [operator, tenant]) {
  const began = Date.now();
  await part().catch(async (error) => {
    await page.screenshot({path: `${facts.pictures}/demo-failed.png`}).catch(() => undefined);
    console.log(`${part.name}: ${error.stack}\n${walk.complaints.join("\n")}`);
    process.exit(1);
  });
  console.log(`ok: ${part.name} ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
await walk.end();
