import { EXIT } from '../errors.js'

export interface Signals {
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly drain: AbortSignal
  /** Which one it was. */
  received(): 'SIGINT' | 'SIGTERM' | null
  restore(): void
}

/** The first signal asks for a drain, the second ends the process immediately. */
export function listenForSignals(onDrain: (signal: 'SIGINT' | 'SIGTERM') => void): Signals {
  const controller = new AbortController()
  let first: 'SIGINT' | 'SIGTERM' | null = null
  const receive = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGINT' && signal !== 'SIGTERM') return
    if (first !== null) process.exit(EXIT[signal === 'SIGINT' ? 'interrupted' : 'terminated'].code)
    first = signal
    onDrain(signal)
    controller.abort()
  }
  process.on('SIGINT', receive)
  process.on('SIGTERM', receive)
  return {
    drain: controller.signal,
    received: () => first,
    restore() {
      process.removeListener('SIGINT', receive)
      process.removeListener('SIGTERM', receive)
    },
  }
}
