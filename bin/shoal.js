#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (path) => new URL(`../${path}`, import.meta.url)
if (existsSync(at('dist/cli/main.js'))) await import(at('dist/cli/main.js').href)
else {
  // A clone before its first install, or whose install scripts were not allowed to run.
  const command = existsSync(at('node_modules/typescript')) ? 'npm run build' : 'npm ci'
  process.stderr.write(`shoal is not built yet: run \`${command}\` in ${fileURLToPath(at(''))}\n`)
  process.exitCode = 1
}
