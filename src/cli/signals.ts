import { EXIT } from '../errors.js'

export interface Signals {
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly drain: AbortSignal
  /** Which one it was. */
  received(): 'SIGINT' | 'SIGTERM' | null
  restore(): void
}

/** The first signal asks for a drain, the second one ends the process at once. */
export function listenForSignals(onDrain: (signal: 'SIGINT' | 'SIGTERM') => void): Signals {
  const controller = new AbortController()
  let first: 'SIGINT' | 'SIGTERM' | null = null
  const hear = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGINT' && signal !== 'SIGTERM') return
    if (first !== null) process.exit(EXIT[signal === 'SIGINT' ? 'interrupted' : 'terminated'].code)
    first = signal
    onDrain(signal)
    controller.abort()
  }
  process.on('SIGINT', hear)
  process.on('SIGTERM', hear)
  return {
    drain: controller.signal,
    received: () => first,
    restore() {
      process.removeListener('SIGINT', hear)
      process.removeListener('SIGTERM', hear)
    },
  }
}
