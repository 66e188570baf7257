import { ShoalError } from '../../errors.js'

export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

export function away(why: string, cause?: unknown): ShoalError {
  return new ShoalError('queue_away', `Redis is away: ${why}.`, { cause })
}
