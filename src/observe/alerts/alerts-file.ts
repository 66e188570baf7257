import { z } from 'zod'
import { ShoalError } from '../../errors.js'
import { check, duration, options } from '../../options.js'
import { ruleSettings } from './rules/all-rules.js'

/** What a person writes into the file of alerts (docs/alerts.md). A secret is named there and never written. */
const secret = z.union(
  [
    options({ env: z.string().regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable') }),
    options({ file: z.string().min(1) }),
  ],
  'expected { "env": "NAME" } or { "file": "path" }: a secret is named here, never written',
)

const webhook = options({
  url: z.string().regex(/^https?:\/\//, 'expected an address that begins with https:// or http://'),
  secret: secret.optional(),
  timeout: duration({ min: 100, max: 60_000 }).default(10_000),
  allowPrivate: z.array(z.string()).default([]),
})

/** No system takes a zero byte within a word. */
const word = z.string().refine((text) => !text.includes('\0'), 'has a zero byte')

const alertsFile = options({
  rules: ruleSettings.prefault({}),
  webhooks: z.array(webhook).max(20).default([]),
  commands: z.array(z.array(word).min(1)).max(20).default([]),
})

export type AlertsFile = z.output<typeof alertsFile>

/** `where`: the name of the file, for its errors, which never show what could be a secret. */
export function parseAlertsFile(text: string, where: string): AlertsFile {
  try {
    return check(alertsFile, JSON.parse(text), 'alerts_invalid')
  } catch (error) {
    if (!(error instanceof ShoalError)) throw new ShoalError('alerts_invalid', `${where} is not JSON`)
    throw new ShoalError('alerts_invalid', `${where}: ${error.message.replace(/\S*:\/\/\S*/g, '***')}`)
  }
}

export const DEFAULT_ALERTS: AlertsFile = alertsFile.parse({})
