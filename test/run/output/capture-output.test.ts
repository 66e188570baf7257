import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { createJiti } from 'jiti'
import { expect, it } from 'vitest'

/** A thread in which something was printed before its output is captured: Node then calls the stream that was replaced. */
const THREAD = `
  const { createRequire } = require('node:module')
  const { workerData } = require('node:worker_threads')
  const { createJiti } = createRequire(workerData.root)('jiti')
  process.stdout.write('before')
  const jiti = createJiti(workerData.root)
  Promise.all([jiti.import(workerData.capture), jiti.import(workerData.clock)]).then(([{ captureOutput }, { systemClock }]) => {
    const printed = []
    captureOutput(systemClock, ({ message }) => printed.push(message))
    console.log('after')
    require('node:worker_threads').parentPort.postMessage(printed)
    setTimeout(() => process.exit(0), 200)
  })
`

it('a thread whose output is captured survives what Node tells its streams', async () => {
  const jiti = createJiti(import.meta.url)
  const worker = new Worker(THREAD, {
    eval: true,
    stdout: true,
    workerData: {
      root: import.meta.filename,
      capture: jiti.esmResolve('../../../src/run/output/capture-output.ts'),
      clock: jiti.esmResolve('../../../src/clock.ts'),
    },
  })
  const failed = once(worker, 'error').then(([error]) => String(error))
  const [printed] = await Promise.race([once(worker, 'message'), failed.then((error) => [error])])
  expect(printed).toEqual(['after'])
  // The parent reads only now: that is when Node calls the stream in the thread.
  worker.stdout.resume()
  expect(await Promise.race([once(worker, 'exit').then(([code]) => code), failed])).toBe(0)
})
