"""verify: the fit repeated."""

from commands import answer, cofactor, make_rows, write_table


def test_verify_repeats_the_fit_to_the_bit(model):
    found = answer("verify", model)
    assert found["identical"]
    assert found["equal"]
    assert found["same_data"]
    assert found["same_predictions"] == 1
    assert "Verified." in cofactor("verify", model).stdout


def test_verify_notices_other_data(home, model, tmp_path):
    rows = make_rows()
    rows[0][1] = "butter butter"
    path = write_table(tmp_path / "other.csv", rows)
    found = answer("verify", model, "--data", path, code=1)
    assert not found["same_data"]
    assert "Not verified" in cofactor("verify", model, "--data", path, code=1).stdout


def test_verify_without_the_table_asks_for_it(home, tmp_path):
    path = write_table(tmp_path / "a.csv", make_rows(30))
    cofactor("fit", path, "--text", "body", "-o", tmp_path / "m", "-k", 2)
    path.unlink()
    assert "--data" in cofactor("verify", tmp_path / "m", code=2).stderr


def test_a_model_and_its_table_may_move_together(home, tmp_path):
    (tmp_path / "old").mkdir()
    path = write_table(tmp_path / "old" / "a.csv", make_rows(30))
    cofactor("fit", path, "--text", "body", "-o", tmp_path / "old" / "m", "-k", 2)
    (tmp_path / "old").rename(tmp_path / "new")
    assert answer("verify", tmp_path / "new" / "m")["identical"]
