import { z } from 'zod'
import { options } from '../../../options.js'
import { ALERT_RULES, type AlertRule } from '../alert.js'
import { deadRising } from './dead-rising.js'
import { errorSpike } from './error-spike.js'
import { etaSlipping } from './eta-slipping.js'
import { fieldDrift } from './field-drift.js'
import { hostStalled } from './host-stalled.js'
import { noProgress } from './no-progress.js'
import { proxiesResting } from './proxies-resting.js'
import { queueGrowing } from './queue-growing.js'
import { queueMemory } from './queue-memory.js'
import type { Finding, Rule, WatchSnapshot } from './rule.js'
import { workerLost } from './worker-lost.js'

/** A rule with its settings, and with what it remembers between snapshots. */
export interface Judge {
  readonly rule: AlertRule
  readonly lastingMs: number
  readonly needsMs: number
  /** See Rule. */
  judge(snapshot: WatchSnapshot): readonly Finding[] | null
}

/** A rule whose settings are checked. @public: the declaration of the alerts file has to name it. */
export interface SetRule {
  /** Durations in milliseconds, sizes in bytes. */
  readonly thresholds: Readonly<Record<string, unknown>>
  start(): Judge
}

interface KnownRule {
  readonly meaning: string
  readonly schema: z.ZodType<SetRule>
}

function known<Settings extends object, Memory>(rule: Rule<Settings, Memory>): KnownRule {
  const { meaning, lastingMs, noMemory, settings } = rule
  const start = (checked: Settings): Judge => {
    let memory = noMemory
    return {
      ...{ rule: rule.rule, lastingMs, needsMs: rule.needsMs(checked) },
      judge(snapshot) {
        const judgement = rule.judge(snapshot, checked, memory)
        memory = judgement.memory
        return judgement.found
      },
    }
  }
  return {
    meaning,
    schema: settings.transform((checked) => ({
      thresholds: Object.fromEntries(Object.entries(checked)),
      start: () => start(checked),
    })),
  }
}

export const RULES: Readonly<Record<AlertRule, KnownRule>> = {
  queue_growing: known(queueGrowing),
  error_spike: known(errorSpike),
  host_stalled: known(hostStalled),
  proxies_resting: known(proxiesResting),
  no_progress: known(noProgress),
  dead_rising: known(deadRising),
  field_drift: known(fieldDrift),
  eta_slipping: known(etaSlipping),
  queue_memory: known(queueMemory),
  worker_lost: known(workerLost),
}

/** By rule: its thresholds with defaults filled in; null (false in the file) for a rule that is off. */
export const ruleSettings = options(
  Object.fromEntries(
    ALERT_RULES.map((rule) => [
      rule,
      z.preprocess((value) => (value === false ? null : (value ?? {})), RULES[rule].schema.nullable()),
    ]),
  ),
)
export type RuleSettings = z.output<typeof ruleSettings>

/** The rules that are on, each with an empty memory. */
export function judgesOf(settings: RuleSettings): Judge[] {
  return ALERT_RULES.flatMap((rule) => settings[rule]?.start() ?? [])
}
