import type { Link } from '../../url/link.js'
import type { Outcome, Settlement } from '../frontier.js'
import { encodeFailure, encodeTallies } from './codec.js'

/** Arguments of one script call: unpack in Lua fails near 8,000, and no call should take long. */
export const LINKS_AT_ONCE = 500
/** A lease costs 40–67 µs where its host is no simple one: 500 of them held up every other caller for 20–34 ms. */
export const LEASES_AT_ONCE = 128

/** Slices of one call's size; at least one, also of an empty list. */
export function* slices<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let from = 0; from === 0 || from < items.length; from += size) yield items.slice(from, from + size)
}

/** Settlements of one call: bounded in leases and in links. A page with thousands of links goes alone. */
export function* settleBatches<Item extends Settlement>(settlements: readonly Item[]): Generator<Item[]> {
  let batch: Item[] = []
  let links = 0
  for (const settlement of settlements) {
    const found = linksOf(settlement.outcome).length
    if (batch.length > 0 && (batch.length >= LEASES_AT_ONCE || links + found > 2 * LINKS_AT_ONCE)) {
      yield batch
      batch = []
      links = 0
    }
    batch.push(settlement)
    links += found
  }
  if (batch.length > 0) yield batch
}

export function linksOf(outcome: Outcome): readonly Link[] {
  return outcome.kind === 'done' ? outcome.links : []
}

/** settle.lua: what was counted on a page that is done; else the failure, after its code and a line feed where the link ends with it. */
export function outcomeText(outcome: Outcome): string | Buffer {
  if (outcome.kind === 'back') return ''
  if (outcome.kind === 'done') {
    const { filtered = [], counts = [] } = outcome
    return filtered.length + counts.length === 0 ? '' : encodeTallies(filtered, counts)
  }
  const failure = encodeFailure(outcome.failure)
  return outcome.kind === 'retry' ? failure : `${outcome.failure.code}\n${failure}`
}
