#!/usr/bin/env node
import { existsSync } from 'node:fs'
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Linux ignores a signal that PID 1 of a container has no handler for: a SIGTERM during the start was lost, and the container was killed when its grace period was
// over. A command with a handler of its own decides itself. A worker has leased nothing yet, so it ends with 0 as any worker does that is asked to stop.
if (process.pid === 1) {
  // The exit of Node itself: later it is replaced by one that refuses to end the process for a spider.
  const exit = process.exit.bind(process)
  const ofWorker = process.argv[2] === 'worker' ? 0 : null
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ])
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) exit(ofWorker ?? code)
    })
}

// Node 22.8 and later keep compiled modules on disk. The folder belongs to the user: code in a shared /tmp could be anybody's.
if (typeof module.enableCompileCache === 'function' && process.env.NODE_COMPILE_CACHE === undefined) {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'shoal', 'compiled')
  module.enableCompileCache(folder)
  // For worker threads and processes.
  process.env.NODE_COMPILE_CACHE = folder
}

const at = (path) => new URL(`../${path}`, import.meta.url)
if (existsSync(at('dist/cli/main.js'))) {
  const { openFilesLimit, RAISE_LIMIT, tooFewFiles } = await import(at('dist/open-files.js').href)
  // Checked before anything else is loaded: that would fail halfway, with a stack of Node's own.
  const message = tooFewFiles('start', openFilesLimit())
  if (message === null) await import(at('dist/cli/main.js').href)
  else {
    const error = { code: 'no_sockets', message, hint: RAISE_LIMIT }
    const isJson = process.argv.includes('--json') || process.env.SHOAL_JSON === 'true'
    process.stderr.write(
      isJson ? `${JSON.stringify({ error })}\n` : `error no_sockets: ${message}\n  → ${RAISE_LIMIT}\n`,
    )
    process.exitCode = 4
  }
} else {
  // A clone before its first install, or whose install scripts were not allowed to run.
  const command = existsSync(at('node_modules/typescript')) ? 'npm run build' : 'npm ci'
  process.stderr.write(`shoal is not built yet: run \`${command}\` in ${fileURLToPath(at(''))}\n`)
  process.exitCode = 1
}
