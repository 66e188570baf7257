import { ShoalError } from '../../errors.js'
import { SLOTS, slotOf } from '../../redis/slots.js'

/**
 * Every key of the queue in Redis. All keys of a shard begin with its hash tag (`{shoal}` when there is one shard), so that a script finds
 * them on one node; `<crawl>` and `<lane>` are numbers that the shard gives out. Records are packed: lua/parts has their formats.
 *
 *   meta              hash    layout, shards, identity
 *   mark              string  grows with every check: a smaller one means that the queue went back in time
 *   clock             string  server time seen last, and the queue's own time then
 *   epoch             string  the last epoch given to a lease
 *   numbers lanes ends fronts counters: crawls, lanes, dead letters in order, links promoted
 *   crawls            hash    crawl id → number
 *   c:<crawl>         hash    spec, state and counters of a crawl; named limits as r:<route>, k:<pace key>
 *   running:<spider>  set     numbers of the spider's running crawls
 *   h                 hash    host → pace, settings, and its lanes in all crawls: counters, place in the order, levels of the queue
 *   l:<crawl>         hash    lanes of a crawl that has ended, archived
 *   n:<crawl>         zset    hosts by name
 *   q:<crawl>:<level>:<host>  list   links that wait (with \n route: of a lane of its own), first in first; level = 100 − priority
 *   b:<crawl>:<lane>  zset    links that returned, by rank: level and place
 *   d:<crawl>         zset    delayed links, by due time
 *   r:<crawl>         zset    lanes with a link and an open host, by score
 *   w:<crawl>         zset    lanes with a link and a closed host, by the time it opens
 *   a:<crawl>         zset    lanes to be checked again, because limits changed
 *   leases            hash    epoch → lease with its item
 *   deadlines         zset    epoch by the time it runs out
 *   guests guestends          slots held by leases of other shards, and when they run out
 *   worker:<id>       hash    last lease call and its batch, counters, about, what it used lately
 *   turns             hash    spiders → the workers that used the most and whose turn it is, of those that ask for these spiders
 *   held:<id>         set     epochs the worker holds
 *   workers           set     names
 *   beats             hash    worker → time of its last beat, and how long it may be silent
 *   lost              zset    worker by the time at which it is lost
 *   watched           string  time of the last reap
 *   watchedsince      string  wall clock of the first one after nobody had reaped: the rate counts from there
 *   settled:<tenth>   set     epochs settled, by the tenth of a second of their lease; for five minutes
 *   e:<crawl>         hash    fingerprint → dead letter or skipped link
 *   x:<crawl> y:<crawl>  zset dead, skipped fingerprints in order
 *   xc:<crawl>        hash    error code → dead letters
 *   xs:<crawl>        hash    error code → fingerprint of one of them; none of those that are older than this key
 *   f:<crawl>         hash    fingerprint → failures so far
 *   t:<crawl>         hash    links that ended, in a ring of 64 seconds
 *   s:<scope>…                what was seen: lua/parts/seen.lua
 *   trash             list    numbers of removed crawls whose keys are being swept
 */
export const LAYOUT = 2

/** Hash tags that divide the slots of a cluster evenly: shard i falls into the i-th part of the slots. */
export function shardTags(namespace: string, shards: number): string[] {
  if (shards === 1) return [`{${namespace}}`]
  return Array.from({ length: shards }, (_, shard) => {
    for (let nth = 0; ; nth++) {
      const tag = `${namespace}.${shard}${nth === 0 ? '' : `-${nth}`}`
      if (Math.floor((slotOf(tag) * shards) / SLOTS) === shard) return `{${tag}}`
    }
  })
}

export function checkNamespace(namespace: string): void {
  if (/^[\w.-]{1,64}$/.test(namespace)) return
  throw new ShoalError('usage', 'the namespace of a queue is 1 to 64 letters, digits, dots, dashes and underscores')
}
