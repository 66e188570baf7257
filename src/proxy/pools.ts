import { basename, dirname, resolve } from 'node:path'
import { z } from 'zod'
import { ShoalError } from '../errors.js'
import { nearest } from '../nearest.js'
import { check, poolName } from '../options.js'
import type { Pool } from './pool.js'
import { buildPool, type SecretPlaces } from './pool-build.js'
import { DEFAULT_POOL, POOL_SCHEMAS, type WrittenPool } from './pool-schema.js'
import { linesOf, parseJson, readText } from './pool-text.js'
import { poolError } from './proxy-url.js'

type Env = Readonly<Record<string, string | undefined>>

/**
 * The pools of a process. `source`: a file with pools (JSON) or with one proxy URL a line, by its path or as `file:<path>`; or the URLs
 * themselves, with commas or spaces between. Null: no pools. Errors name the place and never show its contents.
 */
export function loadPools(source: string | null, env: Env): Pool[] {
  const text = source?.trim() ?? ''
  if (text === '') return []
  if (text.includes('://')) {
    const places = { env, baseDir: '.', where: 'the list of proxies' }
    return [
      pool(DEFAULT_POOL, { kind: 'datacenter', entries: text.split(/[\s,]+/).filter((word) => word !== '') }, places),
    ]
  }
  const path = text.replace(/^file:/, '')
  const places = { env, baseDir: dirname(resolve(path)), where: basename(path) }
  const content = readText(path, places.where)
  if (!content.trimStart().startsWith('{')) {
    const entries = linesOf(content)
    if (entries.length === 0) throw poolError(`${places.where}: there is no proxy in it`)
    return [pool(DEFAULT_POOL, { kind: 'datacenter', entries }, places)]
  }
  const written = Object.entries(parseJson(content, places.where))
  if (written.length === 0) throw poolError(`${places.where}: there is no pool in it`)
  return written.map(([name, value]) => pool(name, value, places))
}

/** What a worker may use: the pools of these names (null: all), and of them the proxies in that country. */
export function chosenPools(pools: readonly Pool[], names: readonly string[] | null, country: string | null): Pool[] {
  for (const name of names ?? []) poolNamed(pools, name)
  const chosen = pools.filter(({ name }) => names === null || names.includes(name))
  if (country === null) return chosen
  const there = chosen.map((one) => ({ ...one, proxies: one.proxies.filter((proxy) => proxy.country === country) }))
  const serving = there.filter(({ proxies }) => proxies.length > 0)
  if (serving.length === 0 && chosen.length > 0)
    throw new ShoalError('proxy_unknown', `no pool has a proxy in the country '${country}'`, {
      hint: 'Give pools or entries their country; docs/proxies.md has the format.',
    })
  return serving
}

export function poolNamed(pools: readonly Pool[], name: string): Pool {
  const found = pools.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = pools.map((one) => one.name)
  if (names.length === 0) throw new ShoalError('proxy_unknown', `there is no pool '${name}': no proxies were given`)
  const guess = nearest(name, names)
  throw new ShoalError('proxy_unknown', `there is no pool '${name}'`, {
    hint: guess === null ? `Known: ${names.join(', ')}.` : `Did you mean '${guess}'? Known: ${names.join(', ')}.`,
  })
}

interface Places extends SecretPlaces {
  readonly where: string
}

function pool(name: string, value: unknown, places: Places): Pool {
  const { where } = places
  if (!poolName.safeParse(name).success)
    throw poolError(`${where}: the name of a pool has letters, digits, dots, dashes and underscores, at most 64`)
  try {
    return buildPool(name, checked(name, value), places)
  } catch (error) {
    // An option that is not known is shown, and may be a URL in the wrong place.
    if (error instanceof ShoalError) throw poolError(`${where}: ${error.message.replace(/[^\s']+/g, maskUserInfo)}`)
    throw error
  }
}

function maskUserInfo(word: string): string {
  return word.includes('@') ? '***' : word
}

function checked(name: string, value: unknown): WrittenPool {
  const service = typeof value === 'object' && value !== null && 'service' in value ? value.service : 'list'
  if (service !== 'list' && service !== 'gateway' && service !== 'wrap')
    throw poolError(`${name}.service: expected 'wrap' or 'gateway'`)
  const schema = z.object({ [name]: POOL_SCHEMAS[service] })
  return check(schema, { [name]: value }, 'config_invalid')[name] as WrittenPool
}
