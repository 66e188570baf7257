import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../dist/dashboard', import.meta.url)),
    emptyOutDir: true,
    // The page's Content-Security-Policy allows only files, so nothing is inlined as data:.
    assetsInlineLimit: 0,
    // The page is a single file, so the polyfill would be a second script for nothing.
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': process.env.SHOAL_DASHBOARD ?? 'http://127.0.0.1:7070' } },
})
