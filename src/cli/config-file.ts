import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { type ConfigSources, configChoice, FILE_KEYS, type FileSettings } from '../config.js'
import { asShoalError, ShoalError } from '../errors.js'
import { nearest } from '../nearest.js'
import { unknownOption } from '../options.js'
import { textOf } from '../thrown.js'

/** shoal.config.ts: found, loaded, and reduced to the settings of one environment. */
export interface ConfigFile extends FileSettings {
  /** Relative to the working folder. */
  readonly path: string
  readonly environment: string | null
}

const NAMES = ['ts', 'mts', 'js', 'mjs', 'json'].map((ending) => `shoal.config.${ending}`)

/** Null: there is none, and none was asked for. */
export async function openConfigFile(sources: ConfigSources, folder = process.cwd()): Promise<ConfigFile | null> {
  const { config, env } = configChoice(sources)
  const file = config === null ? findConfigFile(folder) : resolve(folder, config)
  if (file === null) {
    if (env === null) return null
    throw new ShoalError(
      'config_invalid',
      `there is no environment '${env}': no shoal.config.ts in ${folder} or above it`,
      {
        hint: 'Create shoal.config.ts with `environments`, or pass --config <file>.',
      },
    )
  }
  if (!existsSync(file))
    throw new ShoalError('config_invalid', `${config}: there is no such file`, {
      hint: 'Check --config or SHOAL_CONFIG.',
    })
  const path = relative(folder, file) || basename(file)
  const content = await contentOf(file, path)
  try {
    return { path, environment: env, values: settingsIn(content, env, { file, path, folder }) }
  } catch (error) {
    // It is code: reading a setting may throw.
    if (error instanceof ShoalError) throw error
    throw new ShoalError('config_invalid', `${path}: ${textOf(error)}`, { cause: error })
  }
}

/**
 * In this folder, or in one above it that belongs to the same project: up to the repository, or to the package if there is no repository. Not further: above a
 * project may be a folder that other users can write to, and the file is code.
 */
export function findConfigFile(folder: string): string | null {
  const above = foldersAbove(folder)
  const root = [
    above.findIndex((one) => existsSync(join(one, '.git'))),
    above.findIndex((one) => existsSync(join(one, 'package.json'))),
  ].find((index) => index >= 0)
  for (const one of above.slice(0, (root ?? 0) + 1)) {
    const [first, second] = NAMES.filter((name) => existsSync(join(one, name)))
    if (second !== undefined)
      throw new ShoalError('config_invalid', `there are two config files in ${one}: ${first} and ${second}`, {
        hint: 'Remove one, or choose one with --config.',
      })
    if (first !== undefined) return join(one, first)
  }
  return null
}

function foldersAbove(folder: string): string[] {
  const parent = dirname(folder)
  return parent === folder ? [folder] : [folder, ...foldersAbove(parent)]
}

async function contentOf(file: string, path: string): Promise<unknown> {
  if (file.endsWith('.json')) {
    try {
      return JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''))
    } catch (error) {
      // V8 adds a piece of the file, which may be a password.
      const [fault] = textOf(error).split(/, (?:\.\.\.)?"/)
      throw new ShoalError('config_invalid', `${path}: not JSON: ${fault}`)
    }
  }
  // Most commands have no config file, and need no compiler.
  const { evaluateFile } = await import('../spider/load.js')
  try {
    return await evaluateFile(file, path)
  } catch (error) {
    throw new ShoalError('config_invalid', asShoalError(error).message, { cause: error })
  }
}

type Values = Readonly<Record<string, unknown>>

interface Place {
  readonly file: string
  readonly path: string
  /** The working folder. */
  readonly folder: string
}

/** Unknown settings are refused in every environment: a typo in `production` is found before somebody deploys it. */
function settingsIn(content: unknown, environment: string | null, place: Place): FileSettings['values'] {
  const { path } = place
  const { environments = {}, ...top } = objectAt(content, path, 'an object: export default defineConfig({ … })')
  const all = objectAt(environments, `${path}: environments`, 'an object')
  const sections = Object.entries(all).map(
    ([name, section]) => [name, objectAt(section, `${path}: environments.${name}`, 'an object with settings')] as const,
  )
  refuseUnknown(top, path, ['environments'])
  for (const [name, section] of sections) refuseUnknown(section, `${path}: environments.${name}`)
  const chosen = sections.find(([name]) => name === environment)?.[1]
  if (environment !== null && chosen === undefined) throw unknownEnvironment(environment, path, Object.keys(all))
  const entries = (values: Values, from: string, at: string) =>
    Object.entries(values).map(([key, value]) => {
      const found = { value: withPath(key, value, place), from, path: `${at}${key}` }
      return [key, found] as const
    })
  return new Map([
    ...entries(top, path, `${path}: `),
    ...entries(chosen ?? {}, `${environment} in ${path}`, `${path}: environments.${environment}.`),
  ])
}

function objectAt(value: unknown, path: string, expected: string): Values {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Promise))
    return value as Values
  throw new ShoalError('config_invalid', `${path}: expected ${expected}`)
}

function refuseUnknown(values: Values, path: string, also: readonly string[] = []): void {
  for (const key of Object.keys(values)) {
    if ((FILE_KEYS as readonly string[]).includes(key)) continue
    if (key === 'token')
      throw new ShoalError('config_invalid', `${path}: token: a file is read by too many to hold it`, {
        hint: 'Set SHOAL_TOKEN in the environment.',
      })
    throw new ShoalError('config_invalid', `${path}: ${unknownOption(key, [...FILE_KEYS, ...also])}`)
  }
}

function unknownEnvironment(environment: string, path: string, known: readonly string[]): ShoalError {
  // `prod` is no typo of `production`, but it is what people type.
  const guess = nearest(environment, known) ?? known.find((name) => name.startsWith(environment)) ?? null
  const suggestion = guess === null ? '' : `, did you mean '${guess}'?`
  return new ShoalError('config_invalid', `${path}: there is no environment '${environment}'${suggestion}`, {
    hint: known.length === 0 ? 'Add it to `environments`.' : `Environments: ${known.join(', ')}.`,
  })
}

/** Files are relative to the config file, wherever the command is run. */
function withPath(key: string, value: unknown, { file, folder }: Place): unknown {
  if ((key === 'pool' || key === 'allowHost') && Array.isArray(value)) return value.join(',')
  if (typeof value !== 'string') return value
  const here = (path: string) => {
    if (path === '' || isAbsolute(path)) return path
    return relative(folder, resolve(dirname(file), path)) || '.'
  }
  switch (key) {
    case 'queue':
    case 'store':
    case 'pages':
      return value.replace(
        /^(sqlite|files):(?!\/\/)(.+)$/s,
        (_all, scheme: string, path: string) => `${scheme}:${here(path)}`,
      )
    case 'proxies':
      return value.includes('://') ? value : here(value)
    case 'alerts':
    case 'cacheDir':
      return here(value)
    case 'browser':
      return value.startsWith('.') ? resolve(dirname(file), value) : value
    default:
      return value
  }
}
