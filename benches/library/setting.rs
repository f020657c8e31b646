//! What all candidates work on.

use std::fs;
use std::path::{Path, PathBuf};

use cap_roots::{Access, Builder, Roots};

pub const DEPTHS: [usize; 3] = [1, 4, 8];
pub const SIZE: usize = 4096;

/// Rules as operators write them, none of which is about the files here.
pub const RULES: [(&str, Access); 20] = [
    ("**/.env", Access::None),
    ("**/.env.*", Access::None),
    ("**/.git", Access::Read),
    ("**/.ssh/**", Access::None),
    ("**/id_rsa*", Access::None),
    ("**/*.pem", Access::None),
    ("**/*.key", Access::None),
    ("**/.aws/**", Access::None),
    ("**/.netrc", Access::None),
    ("**/.npmrc", Access::Read),
    ("**/node_modules/**", Access::Read),
    ("**/target/", Access::Read),
    ("**/secrets/**", Access::None),
    ("**/*.sqlite", Access::Read),
    ("**/credentials.json", Access::None),
    ("**/.vscode/**", Access::Read),
    ("/vendor/**", Access::Read),
    ("/docs/internal/**", Access::None),
    ("/build/*.lock", Access::Read),
    ("**/terraform.tfstate*", Access::None),
];

/// A directory with a file at each depth.
pub struct Setting {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
}

impl Setting {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for depth in DEPTHS {
            let file = root.join(path(depth));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, vec![b'x'; SIZE]).unwrap();
        }
        Self { _folder: folder, root }
    }
}

/// The path of the file that is so many names deep.
pub fn path(depth: usize) -> String {
    (1..depth).map(|level| format!("d{level}/")).collect::<String>() + "file"
}

pub fn free(root: &Path) -> Roots {
    of(root, Roots::builder())
}

pub fn ruled(root: &Path) -> Roots {
    of(root, RULES.iter().fold(Roots::builder(), |builder, (rule, access)| builder.rule(*rule, *access)))
}

pub fn of(root: &Path, builder: Builder) -> Roots {
    builder.root(root, Access::Write).open().unwrap()
}

pub fn cap_dir(root: &Path) -> cap_std::fs::Dir {
    cap_std::fs::Dir::open_ambient_dir(root, cap_std::ambient_authority()).unwrap()
}

/// As many do it: the real path, compared, and opened by name again.
pub fn checked(root: &Path, path: &Path) -> fs::File {
    let real = fs::canonicalize(path).unwrap();
    assert!(real.starts_with(root));
    fs::File::open(real).unwrap()
}
