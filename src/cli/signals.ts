import { asShoalError, EXIT } from '../errors.js'

export interface Signals {
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly drain: AbortSignal
  /** Which one it was. */
  received(): 'SIGINT' | 'SIGTERM' | null
  /** The exit code of a command that a signal ended. */
  exitCode(): number
}

/** The first signal asks for a drain, the second one ends the process at once. They are caught as long as the work runs. */
export async function withSignals<Result>(
  onDrain: (signal: 'SIGINT' | 'SIGTERM') => void,
  work: (signals: Signals) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  let first: 'SIGINT' | 'SIGTERM' | null = null
  const codeOf = (signal: 'SIGINT' | 'SIGTERM' | null) => EXIT[signal === 'SIGTERM' ? 'terminated' : 'interrupted'].code
  const onSignal = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGINT' && signal !== 'SIGTERM') return
    if (first !== null) process.exit(codeOf(signal))
    first = signal
    onDrain(signal)
    controller.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    return await work({ drain: controller.signal, received: () => first, exitCode: () => codeOf(first) })
  } catch (thrown) {
    if (asShoalError(thrown).code === 'interrupted') process.exitCode = codeOf(first)
    throw thrown
  } finally {
    process.removeListener('SIGINT', onSignal)
    process.removeListener('SIGTERM', onSignal)
  }
}
