import { fork, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The process of the site; `begin` before a contender, `report` after it. */
export async function openSite() {
  const child = fork(fileURLToPath(new URL('./site-process.js', import.meta.url)))
  const answer = () => new Promise((resolve) => child.once('message', resolve))
  const { port } = await answer()
  const ask = (message) => {
    const answered = answer()
    child.send(message)
    return answered
  }
  return {
    origin: `http://127.0.0.1:${port}`,
    begin: (pages, delayMs = 0) => ask({ kind: 'begin', pages, delayMs }),
    report: () => ask({ kind: 'report' }),
    close: () => child.disconnect(),
  }
}

/**
 * Runs a command until it ends. CPU seconds are those of the process, all its threads and all its children: the shell's `times` has them from the
 * kernel. `watch` is called every half second with the process id of the shell.
 */
export async function runMeasured(command, { env = {}, watch } = {}) {
  const script = '"$@" 3>&-; code=$?; times >&3; exit $code'
  const child = spawn('sh', ['-c', script, 'sh', ...command], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const [output, errors, times] = child.stdio.slice(1).map(collect)
  const timer = watch === undefined ? undefined : setInterval(() => watch(child.pid), 500)
  const code = await new Promise((resolve) => child.once('close', resolve))
  clearInterval(timer)
  if (code !== 0)
    throw new Error(
      `${command.slice(0, 4).join(' ')} ended with exit code ${code}\n${errors().slice(-2000)}${output().slice(-500)}`,
    )
  const children = times().trim().split('\n').at(-1) ?? ''
  return { lastLine: output().trim().split('\n').at(-1) ?? '', cpuSeconds: sumTimes(children) }
}

function collect(stream) {
  const parts = []
  stream.on('data', (part) => parts.push(part))
  return () => Buffer.concat(parts).toString()
}

/** "0m1.230s 0m0.450s" */
function sumTimes(line) {
  let sum = 0
  for (const [, minutes, seconds] of line.matchAll(/(\d+)m([\d.,]+)s/g))
    sum += Number(minutes) * 60 + Number(seconds.replace(',', '.'))
  return sum
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
