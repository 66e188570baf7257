import { z } from 'zod'
import { ShoalError } from '../../errors.js'
import { check, duration, options } from '../../options.js'
import { ruleSettings } from './rules/all-rules.js'

/** The alerts file (docs/alerts.md). Secrets are referenced there, never written. */
const secret = z.union(
  [
    options({ env: z.string().regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable') }),
    options({ file: z.string().min(1) }),
  ],
  'expected { "env": "NAME" } or { "file": "path" }: secrets are referenced here, never written',
)

const webhook = options({
  url: z.string().regex(/^https?:\/\//, 'expected an address that starts with https:// or http://'),
  secret: secret.optional(),
  timeout: duration({ min: 100, max: 60_000 }).default(10_000),
  allowPrivate: z.array(z.string()).default([]),
})

/** No system accepts a zero byte in an argument. */
const word = z.string().refine((text) => !text.includes('\0'), 'contains a zero byte')

const alertsFile = options({
  rules: ruleSettings.prefault({}),
  webhooks: z.array(webhook).max(20).default([]),
  commands: z.array(z.array(word).min(1)).max(20).default([]),
})

export type AlertsFile = z.output<typeof alertsFile>

/** `where`: the file name for error messages, which never show a value that could be a secret. */
export function parseAlertsFile(text: string, where: string): AlertsFile {
  try {
    return check(alertsFile, JSON.parse(text), 'alerts_invalid')
  } catch (error) {
    if (!(error instanceof ShoalError)) throw new ShoalError('alerts_invalid', `${where} is not JSON`)
    throw new ShoalError('alerts_invalid', `${where}: ${error.message.replace(/\S+/g, maskAddress)}`)
  }
}

function maskAddress(word: string): string {
  return word.includes('://') ? '***' : word
}

export const DEFAULT_ALERTS: AlertsFile = alertsFile.parse({})
