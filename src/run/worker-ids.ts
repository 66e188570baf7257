import { hostname } from 'node:os'
import type { WorkerId } from '../frontier/frontier.js'

/** `host-pid-n`, where n counts the workers this process has started. */
export function workerIds(): () => WorkerId {
  let started = 0
  return () => `${hostname()}-${process.pid}-${++started}`
}
