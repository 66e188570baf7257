import { ShoalError } from '../errors.js'

/** The fields of INFO by name. */
export type Info = ReadonlyMap<string, string>

/** null: CONFIG GET is forbidden or unknown, as on managed servers. */
export interface Persistence {
  readonly save: string | null
  readonly appendfsync: string | null
}

const OLDEST = [6, 2] as const

export function readInfo(text: string): Info {
  const fields = text.split(/\r?\n/).flatMap((line): [string, string][] => {
    const colon = line.indexOf(':')
    return line.startsWith('#') || colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]]
  })
  return new Map(fields)
}

/** Refuses a server on which a crawl would lose URLs or could not begin; `name` is its host and port. */
export function refuseUnfit(info: Info, name: string): void {
  const version = info.get('redis_version') ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new ShoalError(
      'queue_too_old',
      `Redis at ${name} is version ${version || 'unknown'}; Shoal needs 6.2 or newer.`,
    )
  }
  if (info.get('redis_mode') === 'sentinel') {
    throw new ShoalError('queue_address', `${name} is a Sentinel, not a Redis.`, {
      hint: `Write redis+sentinel://${name}/<master name>.`,
    })
  }
  if (info.get('role') === 'slave') {
    const master = `${info.get('master_host') ?? '?'}:${info.get('master_port') ?? '?'}`
    throw new ShoalError('queue_replica', `Redis at ${name} is a read-only replica of ${master}.`)
  }
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  if (policy !== 'noeviction') {
    throw new ShoalError(
      'queue_eviction',
      `Redis at ${name} has maxmemory-policy ${policy}: when its memory is full, URLs would vanish.`,
    )
  }
  const limit = Number(info.get('maxmemory') ?? 0)
  const used = Number(info.get('used_memory') ?? 0) - Number(info.get('mem_not_counted_for_evict') ?? 0)
  if (limit > 0 && used >= limit) {
    throw new ShoalError('queue_full', `Redis at ${name} is full: it uses ${used} bytes of its maxmemory of ${limit}.`)
  }
}

/** What a crash of the server costs when it costs more than the last seconds; null otherwise. Follows "Redis at <name>". */
export function durabilityGap(info: Info, { save, appendfsync }: Persistence): string | null {
  if (info.get('aof_enabled') === '1') {
    if (appendfsync !== 'no') return null
    return `leaves the flushing of its append-only file to the system (appendfsync no): a power cut may lose the last half minute of the queue. ${ADVICE}`
  }
  if (save === '') return `keeps nothing on disk: when it ends, the queue is lost. ${ADVICE}`
  const snapshots = save === null ? 'at most snapshots' : `only snapshots (save ${save})`
  return `keeps ${snapshots} on disk: a crash takes the queue back to the last one. ${ADVICE}`
}

const ADVICE =
  'With appendonly yes and appendfsync everysec it is two seconds at most, with appendfsync always nothing.'
