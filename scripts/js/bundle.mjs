// Writes the explorer's modules as the one script of the page that `agnn share` writes.
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const modules = fileURLToPath(new URL("../../src/agnn/web/explore/static", import.meta.url));
buildSync({
  stdin: { contents: 'import { answerFromPage } from "./shared.js"; answerFromPage(); import("./explore.js");', resolveDir: modules },
  outfile: process.argv[2] ?? `${modules}/shared.bundle.js`,
  bundle: true,
  minify: true,
  format: "iife",
  charset: "utf8",
  target: "es2022",
});
