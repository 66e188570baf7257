import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const PROCESS = fileURLToPath(new URL('./write-process.js', import.meta.url))

/** A contender in a separate process: `write` a slice, `end`. */
export async function openWriter(task) {
  const child = fork(PROCESS, [JSON.stringify(task)], { execArgv: ['--expose-gc'] })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const answer = () =>
    Promise.race([
      new Promise((resolve) => child.once('message', resolve)),
      exited.then((code) => Promise.reject(new Error(`the process of ${task.contender} ended with ${code}`))),
    ])
  await answer()
  return {
    write(slice) {
      const answered = answer()
      child.send(slice)
      return answered
    },
    async end() {
      if (child.connected) child.send('end')
      await exited
    },
  }
}
