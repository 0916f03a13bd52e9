import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/*.bundle.js"] },
  js.configs.recommended,
  { files: ["src/**/*.js"], languageOptions: { globals: globals.browser } },
  { files: ["scripts/js/*", "tests/js/*"], languageOptions: { globals: globals.node } },
];
