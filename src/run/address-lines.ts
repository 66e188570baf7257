import { CONFIG, type Config, isOfOtherPrograms, maskUrl } from '../config.js'

/** Where a command works, when that is not on the command line: the environment may be that of another project. */
export function addressLines({ queue, store, origins }: Pick<Config, 'queue' | 'store' | 'origins'>): string[] {
  const skipped = origins.skipped.map((name) => `${name} is ignored: it is not a ${usableScheme(name)} address`)
  const names = [origins.queue, origins.store]
  if (!names.some(isVariable)) return skipped
  const override = names.some(isOfOtherPrograms) ? '; set SHOAL_QUEUE and SHOAL_STORE to choose others' : ''
  return [
    `queue ${maskUrl(queue)} (${originText(origins.queue)}), records ${maskUrl(store)} (${originText(origins.store)})${override}`,
    ...skipped,
  ]
}

/** The same for a command that only reads: an address under Shoal's own name was meant, and is not worth a line each time. */
export function surprisingAddressLines(settings: Pick<Config, 'queue' | 'store' | 'origins'>): string[] {
  const { queue, store } = settings.origins
  return [queue, store].some(isOfOtherPrograms) ? addressLines(settings) : []
}

function isVariable(origin: string | null): boolean {
  return origin !== null && !origin.startsWith('--')
}

function originText(origin: string | null): string {
  return origin === null ? 'default' : `from ${origin}`
}

function usableScheme(name: string): string {
  return CONFIG.queue.also.some((one) => name.startsWith(one)) ? 'redis://' : 'postgres://'
}
