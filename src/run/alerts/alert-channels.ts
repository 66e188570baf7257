import type { Clock } from '../../clock.js'
import type { Fetcher } from '../../fetch/fetcher.js'
import type { AlertChannel } from '../../observe/alerts/deliver-alert.js'
import { postWebhook } from '../../outlets/post-webhook.js'
import { commandChannel } from './alert-command.js'
import type { AlertsSetup, AlertWebhook } from './load-alerts.js'

export interface AlertChannels {
  readonly channels: readonly AlertChannel[]
  close(): Promise<void>
}

export async function openChannels(
  { webhooks, commands, secretNames }: AlertsSetup,
  clock: Clock,
): Promise<AlertChannels> {
  // Loaded for webhooks only: the main thread of every other run does without the fetcher.
  const fetcher = webhooks.length === 0 ? null : await httpFetcher(clock)
  const hidden = new Set(secretNames)
  // Shoal's own settings contain the token and the passwords of queue and store: a command does not need them.
  const isSeen = (name: string) => !hidden.has(name) && !name.startsWith('SHOAL_')
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => isSeen(name)))
  return {
    channels: [
      ...(fetcher === null ? [] : webhooks.map((hook, index) => webhookChannel(hook, index + 1, { fetcher, clock }))),
      ...commands.map((argv, index) => commandChannel(argv, { clock, number: index + 1, env })),
    ],
    close: async () => fetcher?.close(),
  }
}

async function httpFetcher(clock: Clock): Promise<Fetcher> {
  const { createHttpFetcher } = await import('../../fetch/http/http-fetcher.js')
  return createHttpFetcher({ clock })
}

/** The address of a webhook is often a secret itself, so only its server is shown. */
function webhookChannel(
  { url, secret, timeoutMs, allowPrivate }: AlertWebhook,
  number: number,
  parts: { readonly fetcher: Fetcher; readonly clock: Clock },
): AlertChannel {
  return {
    name: `webhook ${number} (${new URL(url).origin})`,
    async deliver(message, signal) {
      const post = { id: message.id, body: JSON.stringify(message), headers: { 'shoal-event': message.event } }
      const sent = await postWebhook({ ...post, url, secret, timeoutMs, allowPrivate }, parts, signal)
      if (sent.kind === 'taken') return { kind: 'delivered' }
      if (sent.kind === 'fenced') return { kind: 'rejected', message: sent.kind }
      return { ...sent, kind: sent.kind === 'down' ? 'down' : 'rejected' }
    },
  }
}
