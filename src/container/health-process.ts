/**
 * The HEALTHCHECK of the image. It asks whether the command still answers, whatever it answers. Whether a crawl makes progress, or the queue can be
 * reached, is what /healthz and /readyz report: some orchestrators replace an unhealthy container, and a new worker would not fix either of them.
 */
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { healthTarget } from './health.js'

const ANSWER_MS = 8_000

/** The name of the file that Node runs comes first, and before it Node itself. */
const command = readFileSync('/proc/1/cmdline', 'utf8').split('\0').slice(2)
const target = healthTarget(command, process.env)
if (target === null) {
  console.log('this command serves no port; its process is running')
} else {
  const request = get({ ...target, path: '/readyz', timeout: ANSWER_MS }, (response) => {
    console.log(`answered ${response.statusCode}`)
    response.resume()
  })
  request.on('timeout', () => request.destroy(new Error(`no answer within ${ANSWER_MS / 1000} s`)))
  request.on('error', (error) => {
    console.log(`http://${target.host}:${target.port}/readyz: ${error.message}`)
    process.exitCode = 1
  })
}
