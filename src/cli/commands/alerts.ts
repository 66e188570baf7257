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

/** The watcher looks every five seconds. */
const NOBODY_LOOKS_MS = 30_000

export function alertsCommand(program: Command): void {
  const alerts = program
    .command('alerts')
    .description('what is wrong now and what was lately; the rules; a test of the channels')
  listCommand(alerts)
  rulesCommand(alerts)
  testCommand(alerts)
  guide(alerts, {
    examples: [
      ['alerts', 'what holds now, and what ended within a day'],
      ['alerts rules --alerts alerts.json', 'every rule with its thresholds'],
      ['alerts test --alerts alerts.json', 'is everybody told?'],
    ],
    exitCodes: ['notFound'],
  })
}

function listCommand(alerts: Command): void {
  const list = alerts
    .command('list', { isDefault: true })
    .description('alerts that hold now, and those that ended within a day')
    .action(
      acts(async (session) => {
        const { output, clock, json } = session
        const { lookedMs, ...notes } = await session.withBackends(({ notes }) => readAlerts(notes))
        if (json) {
          output.jsonLines([
            ...notes.active.map((alert) => ({ state: 'active', ...alert })),
            ...notes.ended.map((alert) => ({ state: 'ended', ...alert })),
          ])
        } else showNotes(session, notes, clock.now())
        if (lookedMs === null) output.note('nobody has watched yet: run, worker, schedule run and dashboard do')
        else if (lookedMs > NOBODY_LOOKS_MS) output.note(`nobody watches: this is how it was ${duration(lookedMs)} ago`)
        return undefined
      }),
    )
  guide(list, {
    examples: [
      ['alerts list --queue redis://queue.example', 'of a fleet'],
      ['alerts list --json', '{"state":"active","rule":…,"severity":…,"message":…,"next":…,"since":…} a line'],
    ],
    exitCodes: ['notFound'],
  })
}

function showNotes({ output }: Session, { active, ended }: AlertNotes, now: number): void {
  const { style } = output
  if (active.length === 0) output.print('nothing is wrong')
  for (const alert of active) {
    const paint = alert.severity === 'critical' ? style.red : style.yellow
    output.print(`${paint(alert.rule)}  ${subject(alert)}since ${moment(alert.since)}, ${ago(alert.since, now)}`)
    output.print(`  ${clean(alert.message)}`)
    output.print(style.dim(`  ${clean(alert.next)}`))
  }
  if (ended.length === 0) return
  output.print()
  output.table(
    [{ title: 'ended' }, { title: 'lasted', right: true }, { title: 'rule' }, { title: 'what', shrinks: true }],
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
    .description('every rule with its thresholds and what it means')
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
        return undefined
      }),
    )
  guide(rules, {
    examples: [
      ['alerts rules', 'as they are without a file'],
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
    .description('send a marked test alert through every channel, and say what became of each')
    .addOption(new Option('--rule <rule>', 'as if it were this one').choices(ALERT_RULES).default('no_progress'))
    .action(
      acts(async ({ output, settings, clock, json }, { rule }: { rule: AlertRule }) => {
        const [{ loadAlerts }, { testAlerts }] = await Promise.all([
          import('../../run/alerts/load-alerts.js'),
          import('../../run/alerts/test-alerts.js'),
        ])
        const log = createLog(settings.logLevel, clock, (line) => process.stderr.write(line))
        const tested = await testAlerts(loadAlerts(settings.alerts, process.env), rule, { clock, log })
        for (const { channel, told } of tested) {
          const message = 'message' in told ? clean(told.message) : ''
          if (json)
            output.json({ channel, ok: told.kind === 'told', ...('message' in told && { error: told.message }) })
          else output.print(`${clean(channel)}: ${told.kind === 'told' ? 'ok' : output.style.red(message)}`)
        }
        if (tested.length === 1)
          output.note('there is no webhook and no command: name some in a file, see docs/alerts.md')
        const failed = tested.filter(({ told }) => told.kind !== 'told')
        const [first] = failed
        if (first === undefined) return undefined
        const message = 'message' in first.told ? first.told.message : first.told.kind
        const more = failed.length === 1 ? '' : `, and ${count(failed.length - 1)} more`
        throw new ShoalError('alert_undelivered', `${first.channel}: ${message}${more}`)
      }),
    )
  guide(test, {
    examples: [
      ['alerts test --alerts alerts.json', 'ends with 4 when one of them does not take it'],
      ['alerts test --rule error_spike --json', '{"channel":…,"ok":…,"error":…} a line'],
    ],
  })
}
