import { readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { ShoalError } from '../../errors.js'
import { type AlertsFile, DEFAULT_ALERTS, parseAlertsFile } from '../../observe/alerts/alerts-file.js'
import { checkedSecret } from '../../outlets/webhook-signature.js'
import { secretIn } from '../../secret-file.js'
import { parseUrl } from '../../url/parse-url.js'

/** The rules and channels of a process, including the secrets themselves: none of it is ever printed. */
export interface AlertsSetup {
  readonly rules: AlertsFile['rules']
  readonly webhooks: readonly AlertWebhook[]
  readonly commands: readonly (readonly string[])[]
  /** Environment variables that contain secrets: no command receives them. */
  readonly secretNames: readonly string[]
}

export interface AlertWebhook {
  readonly url: string
  readonly secret: string | null
  readonly timeoutMs: number
  readonly allowPrivate: readonly string[]
}

type Env = Readonly<Record<string, string | undefined>>

export const NO_CHANNELS: AlertsSetup = { rules: DEFAULT_ALERTS.rules, webhooks: [], commands: [], secretNames: [] }

/** `file` is the value of --alerts; null means the default rules, reported to the log only. */
export function loadAlerts(file: string | null, env: Env): AlertsSetup {
  if (file === null) return NO_CHANNELS
  const where = basename(file)
  const { rules, webhooks, commands } = parseAlertsFile(readText(file, where), where)
  return {
    rules,
    commands,
    webhooks: webhooks.map(({ url, secret, timeout, allowPrivate }, index) => {
      const place = `${where}: webhooks[${index}]`
      return {
        ...{ url: checkedUrl(url, place), timeoutMs: timeout, allowPrivate },
        secret: secret === undefined ? null : secretOf(secret, { env, place, folder: dirname(resolve(file)) }),
      }
    }),
    secretNames: webhooks.flatMap(({ secret }) => (secret !== undefined && 'env' in secret ? [secret.env] : [])),
  }
}

function checkedUrl(url: string, place: string): string {
  const parsed = parseUrl(url)
  if (parsed === null) throw invalid(`${place}.url: is not a URL`)
  if (parsed.username !== '' || parsed.password !== '') throw invalid(`${place}.url: must not contain a password`)
  return parsed.href
}

function secretOf(
  secret: NonNullable<AlertsFile['webhooks'][number]['secret']>,
  { env, place, folder }: { readonly env: Env; readonly place: string; readonly folder: string },
): string {
  const found =
    'env' in secret ? secretIn(secret.env, env)?.value : readText(resolve(folder, secret.file), place).trim()
  const source = 'env' in secret ? `the environment variable ${secret.env}` : 'the file'
  return checkedSecret(found, (fault) => invalid(`${place}.secret: ${source} ${fault}`))
}

function readText(path: string, place: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw invalid(`${place}: ${code === 'ENOENT' ? 'there is no such file' : 'cannot be read'} (${path})`)
  }
}

function invalid(message: string): ShoalError {
  return new ShoalError('alerts_invalid', message)
}
