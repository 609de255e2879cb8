// What the page says at each place that it is given, as a person reads it: for the story, which compares.
import {writeFileSync} from "node:fs";
import {facts, until, Walk} from "./walk.mjs";

const walk = await Walk.begin("golden");
const {page} = walk;
await walk.open("/drill");
await walk.logIn("olga");
const shown = {};
for (const path of facts.paths) {
  await page.getByLabel("Open a reference").fill(`/drill?path=${path}&at=${facts.end}&window=5m`);
  await page.keyboard.press("Enter");
  const table = page.locator("table.drill");
  await until(`${path} is shown`, async () => (await page.locator(".command code").last().textContent()).includes(`path=${path}&`) && (await table.locator("tbody tr").count()) > 0);
  const rate = async (row) => (await row.locator("td.number").first().textContent()).trim();
  shown[path] = {
    rates: [(await page.locator(".numbers b").first().textContent()).trim(), ...(await Promise.all((await table.locator("tbody tr").all()).map(rate)))],
    other: await table.locator("tfoot tr").first().textContent(),
    url: await page.locator(".command code").last().textContent(),
  };
}
writeFileSync(facts.shown, JSON.stringify(shown));
await walk.end();
