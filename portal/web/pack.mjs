// Packs what the browser is sent, as gzip: `pack.mjs MADE KEPT`. Zopfli finds 3 % more than gzip -9 and takes seconds, so what has its digest in its name is packed
// once: KEPT has it from the build before.
import {copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";

const [made, kept] = process.argv.slice(2);
// Beside node_modules this file is not.
const {gzipAsync} = createRequire(`${process.cwd()}/`)("@gfx/zopfli");
const pack = async (from, to) => writeFileSync(to, await gzipAsync(readFileSync(from), {numiterations: 5}));

mkdirSync(kept, {recursive: true});
const names = readdirSync(`${made}/assets`);
for (const old of readdirSync(kept)) if (!names.includes(old.replace(/\.gz$/, ""))) rmSync(`${kept}/${old}`);
for (const name of names) {
  if (!existsSync(`${kept}/${name}.gz`)) await pack(`${made}/assets/${name}`, `${kept}/${name}.gz`);
  copyFileSync(`${kept}/${name}.gz`, `${made}/assets/${name}.gz`);
}
await pack(`${made}/index.html`, `${made}/index.html.gz`);
