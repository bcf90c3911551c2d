import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: { target: "es2022", sourcemap: false, assetsInlineLimit: 0, modulePreload: false },
  test: {
    include: ["src/**/*.test.ts", "src/**/*.test.tsx"],
    reporters: process.env.NORMLAB_WEB_RESULTS ? ["default", "junit"] : ["default"],
    outputFile: { junit: process.env.NORMLAB_WEB_RESULTS ?? "" },
  },
});
