//! Line plots as SVG, readable on light and dark pages. A few lines of text; a plotting library would bring more code than the benches have.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::measure::Spread;

const WIDTH: f64 = 790.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 260.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 56.0;
/// Told apart on white and on black, and by those who see no red or no green (after Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#808080"];
// Without variables, which some viewers do not know.
const STYLE: &str = "text{font:12px sans-serif;fill:#1f2328}.t{font-size:14px;font-weight:bold}.p{fill:#fff}.g{stroke:#d8dee4}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.p{fill:#0d1117}.g{stroke:#30363d}}";

/// A line: its name, and what was measured at each place.
pub(crate) type Line = (String, Vec<(f64, Spread)>);

/// How an axis counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Even,
    /// Each step ten times the last; nothing stands at the beginning.
    Tens,
}

pub(crate) struct Plot {
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    pub(crate) across: (&'static str, Scale),
    pub(crate) up: (&'static str, Scale),
    pub(crate) lines: Vec<Line>,
}

/// Where values stand on an axis, and its marks.
struct Axis {
    scale: Scale,
    /// Whether a value is 0, which has a place of its own where steps are tens.
    nothing: bool,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Self {
        let most = values.clone().fold(f64::MIN, f64::max) * 1.05;
        let nothing = values.clone().any(|value| value == 0.0);
        let least = values.filter(|value| *value > 0.0).fold(f64::MAX, f64::min).log10().min(0.0);
        match scale {
            Scale::Even => Self { scale, nothing, from: 0.0, to: most },
            Scale::Tens => Self { scale, nothing, from: if nothing { least - 0.5 } else { least }, to: most.log10() },
        }
    }

    fn part(&self, value: f64) -> f64 {
        let at = match self.scale {
            Scale::Even => value,
            Scale::Tens => value.log10().max(self.from),
        };
        (at - self.from) / (self.to - self.from)
    }

    fn marks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Even => {
                let rough = self.to / 6.0;
                let power = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|by| by * power).find(|step| *step >= rough).unwrap();
                (0..).map(|index| f64::from(index) * step).take_while(|mark| *mark <= self.to).collect()
            }
            Scale::Tens => {
                let powers = (self.from.ceil() as i32..=self.to.floor() as i32).map(|power| 10f64.powi(power));
                let narrow = self.to - self.from < 2.0;
                let between = |power: f64| if narrow { vec![power, 2.0 * power, 5.0 * power] } else { vec![power] };
                let mut marks: Vec<f64> = powers.flat_map(between).filter(|mark| mark.log10() <= self.to).collect();
                if self.nothing {
                    marks.insert(0, 0.0);
                }
                marks
            }
        }
    }
}

fn told(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{}M", value / 1e6),
        value if value >= 1e3 => format!("{}k", value / 1e3),
        value => format!("{}", (value * 1e6).round() / 1e6),
    }
}

impl Plot {
    pub(crate) fn print(&self) {
        println!("\n{}: {} by {}", self.file, self.up.0, self.across.0);
        for (name, points) in &self.lines {
            let points = points
                .iter()
                .map(|(at, spread)| format!("{}: {:.2} ({:.2} to {:.2})", told(*at), spread.middle, spread.low, spread.high));
            println!("- {name}: {}", points.collect::<Vec<_>>().join(", "));
        }
    }

    pub(crate) fn write(&self) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/performance");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(self.file), self.svg()).unwrap();
    }

    fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let across = Axis::over(self.across.1, points().map(|(at, _)| *at));
        let up = Axis::over(self.up.1, points().map(|(_, spread)| spread.high).chain(points().map(|(_, spread)| spread.low)));
        let x = |value: f64| LEFT + across.part(value) * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - up.part(value) * (HEIGHT - TOP - BOTTOM);
        let (title, from, to, low, high) = (self.title, LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\
             <style>{STYLE}</style>\n<rect class=\"p\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\
             <text class=\"t\" x=\"{from}\" y=\"24\">{title}</text>\n"
        );
        for mark in across.marks() {
            let (at, text) = (x(mark), told(mark));
            writeln!(svg, "<path class=\"g\" d=\"M{at:.1} {low}V{high}\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>", low + 18.0).unwrap();
        }
        for mark in up.marks() {
            let (at, text) = (y(mark), told(mark));
            writeln!(
                svg,
                "<path class=\"g\" d=\"M{from} {at:.1}H{to}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                from - 8.0,
                at + 4.0
            )
            .unwrap();
        }
        let middle = (high + low) / 2.0;
        writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            (from + to) / 2.0,
            HEIGHT - 14.0,
            self.across.0
        )
        .unwrap();
        writeln!(svg, "<text transform=\"translate(16 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>", self.up.0)
            .unwrap();
        for ((index, (name, points)), colour) in self.lines.iter().enumerate().zip(COLOURS.iter().cycle()) {
            let line: Vec<_> = points.iter().map(|(at, spread)| format!("{:.1},{:.1}", x(*at), y(spread.middle))).collect();
            writeln!(svg, "<g stroke=\"{colour}\" fill=\"none\" stroke-width=\"2\"><polyline points=\"{}\"/>", line.join(" "))
                .unwrap();
            for (at, spread) in points {
                let (at, middle) = (x(*at), y(spread.middle));
                write!(svg, "<path d=\"M{at:.1} {:.1}V{:.1}\"/>", y(spread.low), y(spread.high)).unwrap();
                write!(svg, "<circle cx=\"{at:.1}\" cy=\"{middle:.1}\" r=\"2.5\" fill=\"{colour}\"/>").unwrap();
            }
            let (start, row) = (to + 14.0, high + 10.0 + 20.0 * index as f64);
            writeln!(svg, "<path d=\"M{start} {:.1}h16\"/></g><text x=\"{}\" y=\"{row}\">{name}</text>", row - 4.0, start + 22.0)
                .unwrap();
        }
        svg + "</svg>\n"
    }
}

/// Results in the order in which the jobs came: for each line, one after the other, its places.
pub(crate) fn lines(names: &[&str], places: &[usize], spreads: &[Spread]) -> Vec<Line> {
    let line = |(name, spreads): (&&str, &[Spread])| {
        ((*name).to_owned(), places.iter().map(|place| *place as f64).zip(spreads.iter().copied()).collect())
    };
    names.iter().zip(spreads.chunks(places.len())).map(line).collect()
}
