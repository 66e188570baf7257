import type { Element } from 'domhandler'
import { nameDistance } from '../nearest.js'

/** Of each kind. Generated class names make any number of them, and nobody means the five-thousandth. */
const MOST_NAMES = 5_000
const MOST_CLASSES_OF_AN_ELEMENT = 100

export type NameKind = 'class' | 'id' | 'tag' | 'attribute'

/** Names on the given elements, with the number of elements that have each. */
export type Names = Readonly<Record<NameKind, ReadonlyMap<string, number>>>

export function namesOn(elements: readonly Element[]): Names {
  const names = { class: new Map<string, number>(), id: new Map(), tag: new Map(), attribute: new Map() }
  for (const { name, attribs } of elements) {
    add(names.tag, name)
    for (const attribute of Object.keys(attribs)) add(names.attribute, attribute)
    if (attribs.id !== undefined) add(names.id, attribs.id)
    for (const one of classesOf(attribs.class)) add(names.class, one)
  }
  return names
}

/** The values of an attribute. */
export function valuesOn(elements: readonly Element[], attribute: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>()
  for (const { attribs } of elements) if (attribs[attribute] !== undefined) add(values, attribs[attribute])
  return values
}

function classesOf(text: string | undefined): ReadonlySet<string> {
  return new Set(text?.split(/\s+/, MOST_CLASSES_OF_AN_ELEMENT).filter((name) => name !== ''))
}

function add(names: Map<string, number>, name: string): void {
  const before = names.get(name)
  if (before !== undefined || names.size < MOST_NAMES) names.set(name, (before ?? 0) + 1)
}

/** The names that somebody who wrote `wanted` may have meant, nearest first. */
export function nearNames(wanted: string, names: Iterable<string>, most: number): readonly string[] {
  const near: { name: string; distance: number }[] = []
  for (const name of names) {
    const distance = name === wanted ? null : nameDistance(wanted, name)
    if (distance !== null) near.push({ name, distance })
  }
  return near
    .sort((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ name }) => name)
}
