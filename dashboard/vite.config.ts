import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../dist/dashboard', import.meta.url)),
    emptyOutDir: true,
    // The page's rules forbid what is not a file of its own: nothing is put into the text as data:.
    assetsInlineLimit: 0,
    // One file: the polyfill would be a second script for nothing.
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': process.env.SHOAL_DASHBOARD ?? 'http://127.0.0.1:7070' } },
})
