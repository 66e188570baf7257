import { placeOf } from '../error-place.js'
import { ShoalError } from '../errors.js'

/**
 * Spider code cannot end its worker, or the process of the command: the pages in flight with it would be repeated. That it tried is an error of its page.
 * Returns the way to end the thread all the same.
 */
export function refuseToEnd(): (code: number) => never {
  return refuse(() => true).endThread
}

/** The same for a thread that the command itself must be able to end: only calls from the spider's code are refused. Returns the function that ends this. */
export function refuseToEndForSpider(): () => void {
  return refuse((call) => placeOf(call) !== null).restore
}

interface Refusal {
  endThread(code: number): never
  restore(): void
}

function refuse(isRefused: (call: Error) => boolean): Refusal {
  const end = process.exit
  const kill = process.kill
  const endThread = end.bind(process)
  const refuseIf = (call: string, isEnd: boolean): void => {
    const message = `the spider called ${call}: return from the handler, or throw an error`
    const error = new ShoalError('handler_error', message)
    if (isEnd && isRefused(error)) throw error
  }
  // Without a code it ends with process.exitCode, which an explicit undefined would reset.
  process.exit = (...code) => {
    refuseIf('process.exit()', true)
    return endThread(...code)
  }
  process.kill = (pid, signal) => {
    const isOwn = pid === 0 || pid === -1 || Math.abs(pid) === process.pid
    refuseIf('process.kill() with its own process', isOwn && signal !== 0)
    return kill.call(process, pid, signal)
  }
  return {
    endThread,
    restore() {
      process.exit = end
      process.kill = kill
    },
  }
}
