import { existsSync } from 'node:fs'
import { CONFIG } from '../../config.js'
import { asShoalError } from '../../errors.js'
import type { Session } from '../session.js'
import { bytes, plural } from '../terminal/format.js'
import type { Check } from './store-checks.js'

/** The development cache grows until somebody empties it. Nothing is said where there is none. */
export async function cacheCheck({ settings }: Pick<Session, 'settings'>): Promise<Check[]> {
  const folder = settings.cache?.folder ?? CONFIG.cacheDir.default
  if (!existsSync(folder)) return []
  try {
    const { cacheSize } = await import('../../run/open-cache.js')
    const { responses, bytes: size } = await cacheSize(folder)
    const detail = `${folder}: ${plural(responses, 'response')}, ${bytes(size)}`
    return [{ name: 'cache', status: 'ok', detail, next: '' }]
  } catch (thrown) {
    const { message, hint } = asShoalError(thrown)
    return [{ name: 'cache', status: 'warn', detail: message, next: hint }]
  }
}
