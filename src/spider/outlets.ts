import { ShoalError } from '../errors.js'
import type { Outlet } from '../outlets/outlet.js'
import type { CheckedDefinition, CheckedOutlet } from './definition-schema.js'

const DEFAULT_MAX_LENGTH = 100_000
const DEFAULT_TIMEOUT_MS = 30_000
const KEY_ENDS = { list: 'items', stream: 'stream', hash: 'records' }
const OF_REDIS = ['key', 'address', 'maxLength', 'serialize', 'field'] as const
const OF_WEBHOOKS = ['secretEnv', 'timeout'] as const

/** The outlets of a spider, each with a unique name. */
export function outletsOf(checked: CheckedDefinition): Outlet[] {
  const outlets = checked.outlets.map((outlet, index) => outletOf(outlet, `outlets[${index}]`, checked))
  outlets.forEach(({ name }, index) => {
    const twin = outlets.findIndex((other) => other.name === name)
    if (twin !== index)
      throw invalid(`outlets[${index}].name: outlets[${twin}] is also named ${name}; give each a unique name`)
  })
  return outlets
}

function outletOf(outlet: CheckedOutlet, path: string, definition: CheckedDefinition): Outlet {
  const { name: spider, records, allowPrivate } = definition
  const { redis, webhook, kinds = null, batch } = outlet
  for (const kind of kinds ?? []) {
    if (!Object.hasOwn(records, kind)) throw invalid(`${path}.kinds: there is no record kind '${kind}'`)
  }
  const basics = { name: `${spider}/${outlet.name ?? redis ?? 'webhook'}`, spider, kinds, batch }
  if (webhook !== undefined && redis === undefined) {
    refuse(outlet, OF_REDIS, path, 'a webhook')
    const { secretEnv = null, timeout: timeoutMs = DEFAULT_TIMEOUT_MS } = outlet
    return { ...basics, to: 'webhook', url: webhook, secretEnv, timeoutMs, allowPrivate }
  }
  if (redis === undefined || webhook !== undefined) throw invalid(`${path}: set either redis or webhook`)
  refuse(outlet, redis === 'hash' ? OF_WEBHOOKS : [...OF_WEBHOOKS, 'field'], path, `a Redis ${redis}`)
  const { address = null, serialize = JSON.stringify, field = ({ url }) => url } = outlet
  return {
    ...basics,
    to: redis,
    key: outlet.key ?? `shoal:${spider}:${KEY_ENDS[redis]}`,
    address,
    maxLength: outlet.maxLength ?? (redis === 'hash' ? null : DEFAULT_MAX_LENGTH),
    serialize: (record) => serialize(record),
    field,
  }
}

function refuse(outlet: CheckedOutlet, options: readonly (keyof CheckedOutlet)[], path: string, what: string): void {
  const given = options.find((option) => outlet[option] !== undefined)
  if (given !== undefined) throw invalid(`${path}.${given}: has no effect for ${what}`)
}

function invalid(message: string): ShoalError {
  return new ShoalError('spider_invalid', message)
}
