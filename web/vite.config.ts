import { defineConfig } from "vite";

export default defineConfig({
  // Relative, so that the pages work below any path.
  base: "./",
  build: {
    outDir: "../publish/site/application",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
  },
});
