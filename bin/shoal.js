#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = new URL('../dist/cli/main.js', import.meta.url)
if (existsSync(main)) await import(main.href)
else {
  // A clone whose install scripts were not allowed to run.
  const folder = fileURLToPath(new URL('..', import.meta.url))
  process.stderr.write(`shoal is not built yet: run \`npm run build\` in ${folder}\n`)
  process.exitCode = 1
}
