import { ShoalError } from '../../errors.js'
import { type FleetReading, type UsefulWorkers, usefulWorkers } from '../snapshots/useful-workers.js'

/** The reply of GET /scale, for autoscalers: each of them needs a number at a fixed place, `workers`. */
export type ScaleReply = SpiderScale | FleetScale

interface SpiderScale extends UsefulWorkers {
  readonly spider: string
}

interface FleetScale {
  /** Of workers that have all of these spiders. */
  readonly workers: number
  readonly spiders: readonly SpiderScale[]
}

export interface ScaleQuery {
  /** Null: every spider that the queue knows. Several: those of one kind of worker. */
  readonly spiders: readonly string[] | null
  /** Slots per worker; null: those of the workers that run. */
  readonly slots: number | null
}

export function scaleOf(reading: FleetReading, { spiders, slots }: ScaleQuery): ScaleReply {
  const [only, ...rest] = spiders ?? []
  // An unknown spider gets 0 rather than an error: it has no crawl yet, and an autoscaler that gets no number keeps its workers.
  if (only !== undefined && rest.length === 0)
    return { spider: only, ...usefulWorkers(reading, new Set([only]), slots) }
  const names = [...new Set(spiders ?? reading.spiders)].sort()
  return {
    workers: usefulWorkers(reading, new Set(names), slots).workers,
    spiders: names.map((spider) => ({ spider, ...usefulWorkers(reading, new Set([spider]), slots) })),
  }
}

/** The figures by spider, for the gauge. A spider without a crawl has 0 and stays: an autoscaler that finds no series keeps its workers. */
export function usefulBySpider(reading: FleetReading): ReadonlyMap<string, number> {
  return new Map(reading.spiders.map((spider) => [spider, usefulWorkers(reading, new Set([spider])).workers]))
}

const MOST_SLOTS = 10_000
const MOST_SPIDERS = 100

/** Throws `bad_request`. A misspelt parameter is refused: the figure of all spiders must not be taken for that of one. */
export function parseScaleQuery(query: URLSearchParams): ScaleQuery {
  for (const name of query.keys())
    if (name !== 'spider' && name !== 'slots')
      throw badRequest(`unknown parameter '${name.slice(0, 50)}': use spider and slots`)
  const [spider, ...more] = query.getAll('spider')
  const [slots, ...others] = query.getAll('slots')
  if (more.length + others.length > 0) throw badRequest('duplicate parameter; several spiders: ?spider=books,shops')
  const spiders = spider === undefined ? null : spider.split(',')
  if (spiders !== null && (spiders.length > MOST_SPIDERS || !spiders.every((name) => NAME.test(name))))
    throw badRequest('spider: expected the name of a spider, or several with commas between them')
  if (slots !== undefined && !(/^[0-9]{1,5}$/.test(slots) && Number(slots) >= 1 && Number(slots) <= MOST_SLOTS))
    throw badRequest(`slots: expected a whole number from 1 to ${MOST_SLOTS}`)
  return { spiders, slots: slots === undefined ? null : Number(slots) }
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/

function badRequest(message: string): ShoalError {
  return new ShoalError('bad_request', message, { hint: 'GET /scale?spider=<name>&slots=<pages at once per worker>' })
}
