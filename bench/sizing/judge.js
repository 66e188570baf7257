/**
 * Bytes are the same on every machine, up to how the allocator rounds: a figure that is further off is out of date. CPU depends on the machine, so each
 * figure is judged relative to the CPU of a page on the same machine; what is left is noise (shared cores, caches), and one part may run while the
 * machine is busier than during another.
 */
const MOST_OFF = { bytes: 1.1, traffic: 1.3, cpu: 2, calls: 2, memory: 1.6 }
const UNIT = 'worker.rulesUsPerPage'

/** What is measured, where it is in FIGURES, and how it is judged. */
const KINDS = {
  'worker.rulesUsPerPage': 'cpu',
  'worker.handlerUsPerPage': 'cpu',
  'worker.politeUsPerPage': 'cpu',
  'worker.startUs': 'cpu',
  'worker.memoryBytes': 'memory',
  'redis.usPerCall': 'cpu',
  'redis.usPerAdded': 'cpu',
  'redis.usPerKnown': 'cpu',
  'redis.usPerVisit': 'cpu',
  'redis.busyUsPerPage': 'cpu',
  'redis.politeUsPerPage': 'cpu',
  'redis.busyCallsPerPage': 'calls',
  'redis.politeCallsPerPage': 'calls',
  'redis.bytesPerQueued': 'bytes',
  'redis.bytesPerSeen': 'bytes',
  'redis.bytesPerHost': 'bytes',
  'redis.networkBytesPerPage': 'traffic',
  'sqlite.bytesPerQueued': 'bytes',
  'sqlite.bytesPerDone': 'bytes',
  'sqlite.bytesPerRecord': 'bytes',
  'sqlite.bytesPerFetch': 'bytes',
  'postgres.bytesPerRecord': 'bytes',
  'postgres.bytesPerFetch': 'bytes',
  'postgres.usPerRecord': 'cpu',
  'postgres.politeUsPerPage': 'cpu',
  'postgres.walBytesPerPage': 'traffic',
}

export const MEASURED = Object.keys(KINDS)

/** One row for each figure that was measured: what FIGURES says, what was measured, how far apart they are, and whether noise explains that. */
export function judge(figures, measured) {
  const at = (tree, path) => path.split('.').reduce((part, key) => part?.[key], tree)
  const speed = (at(measured, UNIT) ?? at(figures, UNIT)) / at(figures, UNIT)
  return MEASURED.flatMap((name) => {
    const now = at(measured, name)
    if (now === undefined) return []
    const kind = KINDS[name]
    const expected = at(figures, name) * (kind === 'cpu' ? speed : 1)
    const ratio = now / expected
    const holds = ratio <= MOST_OFF[kind] && ratio >= 1 / MOST_OFF[kind]
    return [{ name, kind, figure: at(figures, name), measured: now, ratio, most: MOST_OFF[kind], holds }]
  })
}
