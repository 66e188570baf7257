import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import type { Log } from '../../log.js'
import type { Alert, AlertRule } from '../../observe/alerts/alert.js'
import type { AlertDelivered } from '../../observe/alerts/deliver-alert.js'
import { openChannels } from './alert-channels.js'
import type { AlertsSetup } from './load-alerts.js'

export interface TestedChannel {
  readonly channel: string
  readonly result: AlertDelivered
}

/** Sends every channel one alert that is marked as a test. */
export async function testAlerts(
  alerts: AlertsSetup,
  rule: AlertRule,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<TestedChannel[]> {
  const at = clock.now()
  const alert: Alert = {
    ...{ rule, severity: 'warn', about: 'test', crawl: null, spider: null, fields: {}, since: at },
    episode: `test ${randomUUID()}`,
    message: `this is a test of ${rule}: nothing is wrong`,
    next: 'Nothing to do.',
  }
  const { channels, close } = await openChannels(alerts, clock)
  try {
    log.warn('alert.began', { test: true, rule, message: alert.message })
    const message = { id: `alert.began:${alert.episode}`, event: 'alert.began', test: true, at, alert } as const
    const tested = await Promise.all(
      channels.map(async (channel) => ({
        channel: channel.name,
        result: await channel.deliver(message, new AbortController().signal),
      })),
    )
    return [{ channel: 'log', result: { kind: 'delivered' } }, ...tested]
  } finally {
    await close()
  }
}
