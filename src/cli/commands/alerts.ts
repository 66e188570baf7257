import { type Command, Option } from 'commander'
import { ShoalError } from '../../errors.js'
import { createLog } from '../../log.js'
import { ALERT_RULES, type Alert, type AlertNotes, type AlertRule } from '../../observe/alerts/alert.js'
import { readAlerts } from '../../observe/alerts/alert-notes.js'
import { RULES } from '../../observe/alerts/rules/all-rules.js'
import { guide } from '../help.js'
import { acts, type Session, watchOptions } from '../session.js'
import { clean } from '../terminal/clean.js'
import { ago, bytes, count, duration, moment } from '../terminal/format.js'
import { stderr } from '../terminal/streams.js'
import { figure, shrinking } from '../terminal/table.js'

/** Alerts are evaluated every five seconds. */
const STALE_MS = 30_000

export function alertsCommand(program: Command): void {
  const alerts = program.command('alerts').description('active and recent alerts; the rules; send a test alert')
  listCommand(alerts)
  rulesCommand(alerts)
  testCommand(alerts)
  guide(alerts, {
    examples: [
      ['alerts', 'active alerts, and those that ended in the last 24 hours'],
      ['alerts rules --alerts alerts.json', 'all rules with their thresholds'],
      ['alerts test --alerts alerts.json', 'send a test alert through every channel'],
    ],
    exitCodes: ['notFound'],
  })
}

function listCommand(alerts: Command): void {
  const list = alerts
    .command('list', { isDefault: true })
    .description('active alerts, and those that ended in the last 24 hours')
    .action(
      acts(async (session) => {
        const { output, json } = session
        const { evaluatedMs, now, ...notes } = await session.withBackends(async ({ notes, queueClock }) => ({
          ...(await readAlerts(notes)),
          now: queueClock.now(),
        }))
        if (json) {
          output.jsonLines([
            ...notes.active.map((alert) => ({ state: 'active', ...alert })),
            ...notes.ended.map((alert) => ({ state: 'ended', ...alert })),
          ])
        } else showNotes(session, notes, now)
        if (evaluatedMs === null) output.note('No process has evaluated alerts yet; `shoal run` and `shoal worker` do')
        else if (evaluatedMs > STALE_MS)
          output.note(`No process is evaluating alerts: this is from ${duration(evaluatedMs)} ago`)
      }),
    )
  guide(list, {
    examples: [
      ['alerts list --queue redis://queue.example', 'alerts of a fleet'],
      ['alerts list --json', '{"state":"active","rule":…,"severity":…,"message":…,"next":…,"since":…} a line'],
    ],
    exitCodes: ['notFound'],
  })
}

function showNotes({ output }: Session, { active, ended }: AlertNotes, now: number): void {
  const { style } = output
  if (active.length === 0) output.print('no active alerts')
  for (const alert of active) {
    const paint = alert.severity === 'critical' ? style.red : style.yellow
    output.print(`${paint(alert.rule)}  ${subject(alert)}since ${moment(alert.since)}, ${ago(alert.since, now)}`)
    output.print(`  ${clean(alert.message)}`)
    output.print(style.dim(`  ${clean(alert.next)}`))
  }
  if (ended.length === 0) return
  output.print()
  output.table(
    ['ended', figure('lasted'), 'rule', shrinking('message')],
    ended.map((alert) => [
      ago(alert.endedAt, now),
      duration(alert.endedAt - alert.since),
      alert.rule,
      `${subject(alert)}${clean(alert.message)}`,
    ]),
  )
}

function subject({ spider, crawl }: Alert): string {
  return spider === null ? '' : `${clean(crawl === null ? spider : `${spider} ${crawl}`)}  `
}

function rulesCommand(alerts: Command): void {
  const rules = watchOptions(alerts.command('rules'))
    .description('all rules with their thresholds and what they mean')
    .action(
      acts(async ({ output, settings, json }) => {
        const { loadAlerts } = await import('../../run/alerts/load-alerts.js')
        const { rules: set } = loadAlerts(settings.alerts, process.env)
        for (const rule of ALERT_RULES) {
          const thresholds = set[rule]?.thresholds ?? null
          const { meaning } = RULES[rule]
          if (json) {
            output.json({ rule, on: thresholds !== null, thresholds, meaning })
            continue
          }
          const shown = Object.entries(thresholds ?? {}).map(([name, value]) => `${name} ${thresholdText(name, value)}`)
          const state = thresholds === null ? output.style.yellow('off') : output.style.dim(shown.join(', '))
          output.print(`${output.style.bold(rule)}  ${state}`)
          output.print(`  ${meaning}`)
        }
      }),
    )
  guide(rules, {
    examples: [
      ['alerts rules', 'the defaults'],
      ['alerts rules --alerts alerts.json --json', '{"rule":…,"on":…,"thresholds":{…},"meaning":…} a line'],
    ],
  })
}

const DURATIONS: ReadonlySet<string> = new Set(['after', 'window', 'left', 'forget'])

function thresholdText(name: string, value: unknown): string {
  if (typeof value !== 'number') return String(value)
  if (DURATIONS.has(name)) return duration(value)
  return name === 'diskFree' ? bytes(value) : value < 1000 ? String(value) : count(value)
}

function testCommand(alerts: Command): void {
  const test = watchOptions(alerts.command('test'))
    .description('send a test alert, marked as one, through every channel and report the results')
    .addOption(
      new Option('--rule <rule>', 'rule to use for the test alert').choices(ALERT_RULES).default('no_progress'),
    )
    .action(
      acts(async ({ output, settings, clock, json }, { rule }: { rule: AlertRule }) => {
        const [{ loadAlerts }, { testAlerts }] = await Promise.all([
          import('../../run/alerts/load-alerts.js'),
          import('../../run/alerts/test-alerts.js'),
        ])
        const log = createLog(settings.logLevel, clock, (line) => stderr.write(line))
        const tested = await testAlerts(loadAlerts(settings.alerts, process.env), rule, { clock, log })
        for (const { channel, result } of tested) {
          const message = 'message' in result ? clean(result.message) : ''
          if (json)
            output.json({
              channel,
              ok: result.kind === 'delivered',
              ...('message' in result && { error: result.message }),
            })
          else output.print(`${clean(channel)}: ${result.kind === 'delivered' ? 'ok' : output.style.red(message)}`)
        }
        if (tested.length === 1)
          output.note('no webhook or command is configured: add one to the alerts file, see docs/alerts.md')
        const failed = tested.filter(({ result }) => result.kind !== 'delivered')
        const [first] = failed
        if (first === undefined) return undefined
        const message = 'message' in first.result ? first.result.message : first.result.kind
        const more = failed.length === 1 ? '' : `, and ${count(failed.length - 1)} more`
        throw new ShoalError('alert_undelivered', `${first.channel}: ${message}${more}`)
      }),
    )
  guide(test, {
    examples: [
      ['alerts test --alerts alerts.json', 'exit code 4 if a channel fails'],
      ['alerts test --rule error_spike --json', '{"channel":…,"ok":…,"error":…} a line'],
    ],
  })
}
