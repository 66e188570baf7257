import { ShoalError } from '../../errors.js'

/**
 * Spider code cannot end its worker, or the process of the command: the pages in flight with it would be repeated. That it tried is an error of its page.
 * Returns the way to end the thread all the same.
 */
export function refuseToEnd(): (code: number) => never {
  const endThread = process.exit.bind(process)
  const kill = process.kill.bind(process)
  const refused = (call: string) =>
    new ShoalError('handler_error', `the spider called ${call}: return from the handler, or throw an error`)
  process.exit = () => {
    throw refused('process.exit()')
  }
  process.kill = (pid, signal) => {
    const isOwn = pid === 0 || pid === -1 || Math.abs(pid) === process.pid
    if (isOwn && signal !== 0) throw refused('process.kill() with its own process')
    return kill(pid, signal)
  }
  return endThread
}
