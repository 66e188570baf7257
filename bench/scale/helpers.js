import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Kernel ticks per second. */
const TICKS = 100

/** A helper process that answers one message at a time. */
function forkHelper(file) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)))
  const answer = () => new Promise((resolve) => child.once('message', resolve))
  const ask = (message) => {
    const answered = answer()
    child.send(message)
    return answered
  }
  return { child, answer, ask, close: () => child.connected && child.disconnect() }
}

export async function openScaleSite() {
  const { answer, ask, close } = forkHelper('./site-process.js')
  const { origins } = await answer()
  const [single, ...many] = origins
  return {
    origins,
    originsOf: (hosts) => (hosts === 1 ? [single] : many.slice(0, hosts)),
    begin: (cell) => ask({ kind: 'begin', cell }),
    report: () => ask({ kind: 'report' }),
    close,
  }
}

export async function openProxies(count) {
  const { child, ask, close } = forkHelper('./proxies-process.js')
  const { urls } = await ask({ count })
  return { urls, cpuSeconds: () => cpuSeconds(child.pid), close }
}

/** CPU of a process, all its threads. */
function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}
