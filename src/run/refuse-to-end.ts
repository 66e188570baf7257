import { placeOf } from '../error-place.js'
import { ShoalError } from '../errors.js'

/**
 * Spider code cannot end its worker, or the process of the command: the pages in flight with it would be repeated. That it tried is an error of its page.
 * Returns the way to end the thread all the same.
 */
export function refuseToEnd(): (code: number) => never {
  return replaceExits(() => true).exit
}

/** The same for a thread that the command itself must be able to end: only calls from the spider's code are refused. Returns the function that ends this. */
export function refuseToEndForSpider(): () => void {
  return replaceExits((call) => placeOf(call) !== null).restore
}

function replaceExits(isRefused: (call: Error) => boolean): { exit: (code: number) => never; restore: () => void } {
  const { exit, kill } = process
  const endProcess = exit.bind(process)
  const refuseIf = (call: string, isEnd: boolean): void => {
    const message = `the spider called ${call}: return from the handler, or throw an error`
    const error = new ShoalError('handler_error', message)
    if (isEnd && isRefused(error)) throw error
  }
  process.exit = (code) => {
    refuseIf('process.exit()', true)
    return endProcess(code)
  }
  process.kill = (pid, signal) => {
    const isOwn = pid === 0 || pid === -1 || Math.abs(pid) === process.pid
    refuseIf('process.kill() with its own process', isOwn && signal !== 0)
    return kill.call(process, pid, signal)
  }
  const restore = () => {
    process.exit = exit
    process.kill = kill
  }
  return { exit: endProcess, restore }
}
