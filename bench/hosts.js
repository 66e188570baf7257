import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The process of the hosts. `first` and `last`: the first request for a healthy page, the last response. */
export async function openHosts() {
  const child = fork(fileURLToPath(new URL('./hosts-process.js', import.meta.url)))
  const answer = (kind) =>
    new Promise((resolve) => {
      const listen = (message) => {
        if (message.kind !== kind) return
        child.off('message', listen)
        resolve(message)
      }
      child.on('message', listen)
    })
  await answer('ready')
  const ask = (message, kind) => {
    const answered = answer(kind)
    child.send(message)
    return answered
  }
  return {
    /** `pages` on each of `hosts` hosts, answered within `answerMs`; with `slowMs` also the two bad ones. */
    begin: ({ hosts, pages, slowMs, answerMs }) => ask({ kind: 'begin', hosts, pages, slowMs, answerMs }, 'begun'),
    first: () => answer('first'),
    last: () => answer('last'),
    async report(name) {
      const seen = await ask({ kind: 'report' }, 'report')
      if (seen.missing > 0 || seen.strangers.length > 0 || seen.twice > 0) {
        throw new Error(
          `${name} did not fetch the hosts once: ${seen.missing} pages missing, ${seen.twice} fetched again, unknown ones ${JSON.stringify(seen.strangers)}`,
        )
      }
      return seen
    },
    close: () => child.disconnect(),
  }
}
